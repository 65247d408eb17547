"""A server that is an image: what its definition may say, and which image it is taken for."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, cast

import anyio
import docker
import pytest
import yaml

from runner.benchmarks.agentbench.testbed import testbed
from runner.catalog.catalog import LoadedServer, load_catalog
from runner.records import Canary, Limits, McpCall, ServerSpec, digest_of
from runner.report.card import card_text
from runner.sandbox.tree_volume import ensure_tree_volumes, lent
from runner.servers.definition_rules import definition_problems, private_in_cell
from runner.servers.examine import check_server
from runner.servers.image import find_image, require_image
from runner.servers.lock_checks import lock_remarks
from runner.support.errors import CatalogError, FairtrialError, LockError, ServerError
from tests.checkout import copy, server
from tests.images import committed
from tests.sandbox.test_sidecar import SOURCE
from tests.tiny_server import spec_of

PIN = f"acme/server@sha256:{'a' * 64}"


def image_spec(**changes: Any) -> ServerSpec:
    return spec_of(**{"image": PIN, "command": ("{workspace}",), **changes})


# --- the definition -----------------------------------------------------------------------------


def test_an_image_needs_no_command_and_anything_else_does() -> None:
    assert spec_of(image=PIN, command=()).command == ()
    with pytest.raises(ValueError, match="nothing says how it is started"):
        spec_of(command=())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image": "acme/server:latest"}, "another day it would be another image"),
        ({"image": "acme/server@sha256:abc"}, "another day it would be another image"),
        ({"image": None, "http": ""}, "is for an image"),
        ({"files": {"a.py": ""}}, "an image brings its own"),
        ({"warm_up": ({"shell": "index"},)}, "only calls can warm it up"),
        ({"env": {"A": "{install}/a"}}, "has no {install}"),
        ({"command": ("{install}/a",)}, "has no {install}"),
    ],
)
def test_what_only_a_server_in_the_cell_can_have_is_a_problem(
    changes: dict[str, Any], message: str
) -> None:
    assert definition_problems(image_spec(), "x") == []
    (found,) = definition_problems(image_spec(**changes), "x")
    assert message in found.message


def test_its_folder_holds_its_definition_alone_and_the_digest_is_its_lock(tmp_path: Path) -> None:
    copy(Path(__file__).parent.parent / "scenarios/core", tmp_path / "scenarios/core")
    folder = tmp_path / "images/servers/own"
    folder.mkdir(parents=True)
    written = {**server("own", "x"), "image": PIN, "command": ["{workspace}"], "files": {}}

    def digest(**changes: Any) -> str:
        (folder / "server.yaml").write_text(yaml.safe_dump({**written, **changes}))
        return load_catalog(tmp_path).servers["own"].digest

    assert digest(image=PIN.replace("a" * 64, "b" * 64)) != digest()
    assert "image" in lock_remarks(load_catalog(tmp_path).servers["own"], [])[0]
    (folder / "requirements.txt").write_text("a==1 --hash=sha256:0\n")
    with pytest.raises(CatalogError, match="an image is its own lock"):
        digest()


def test_a_server_without_an_image_has_the_digest_that_it_had_before_there_were_any(
    tmp_path: Path,
) -> None:
    written = server("own", "x")
    (tmp_path / "scenarios").mkdir()
    folder = tmp_path / "images/servers/own"
    folder.mkdir(parents=True)
    (folder / "server.yaml").write_text(yaml.safe_dump(written))
    found = load_catalog(tmp_path).servers["own"]
    unseen = {"title", "homepage", "licence", "notes", "substitutes", "image", "http"}
    definition = found.spec.model_dump(mode="json", exclude=unseen)
    assert found.digest == digest_of({"spec": definition, "locks": {}})


def test_its_private_folders_are_its_own_containers_and_not_the_cells() -> None:
    assert private_in_cell(spec_of(private=(".index",))) == (".index",)
    assert private_in_cell(image_spec(private=(".index",))) == ()
    assert private_in_cell(None) == ()


def test_several_servers_of_one_cell_have_no_image_among_them(tmp_path: Path) -> None:
    class Asked:
        def server(self, _: str) -> LoadedServer:
            return LoadedServer(spec=image_spec(), folder=tmp_path, digest="")

    with pytest.raises(FairtrialError, match="an image has a container of its own"):
        testbed.Testbed(cast("Any", Asked())).install("tiny")


# --- on the engine ------------------------------------------------------------------------------


@pytest.mark.docker
def test_an_image_is_found_by_its_id_and_no_other_is_taken_for_it(
    engine: docker.DockerClient, base_image: str
) -> None:
    name = f"fairtrial-test/own-{uuid.uuid4().hex[:8]}"
    with committed(engine, base_image, {}, 'ENTRYPOINT ["x"]', name=name) as image:
        found = require_image(engine, f"{name}@{image}", where="own")
        assert (found.id, f"sha256:{found.digest}", found.volume) == (image, image, None)
        assert found.size_mb > 1
        with pytest.raises(LockError) as caught:
            require_image(engine, f"{name}@sha256:{'a' * 64}", where="own")
        assert image in str(caught.value)
    assert find_image(engine, f"{name}@{image}") is None
    with pytest.raises(ServerError) as absent:
        require_image(engine, f"{name}@{image}", where="own")
    assert absent.value.hint == f"`docker pull {name}@{image}`"
    with pytest.raises(ServerError, match="named with its digest"):
        require_image(engine, f"{name}:latest", where="own")


@pytest.mark.docker
def test_the_doctor_says_what_it_cannot_see_of_an_image_and_counts_the_rest(
    engine: docker.DockerClient, base_image: str
) -> None:
    changes = ('ENTRYPOINT ["python3", "/server.py"]', 'CMD ["babble"]')
    canary = Canary(
        repository="*", call=McpCall(tool="echo", arguments={"text": "alive"}), contains="alive"
    )
    with (
        committed(engine, base_image, {"workspace/a.py": "A = 1\n"}) as workspace,
        committed(engine, base_image, {"server.py": SOURCE}, *changes) as image,
    ):
        spec = image_spec(image=f"own@{image}", command=(), canaries=(canary,))
        installed = require_image(engine, f"own@{image}", where="own")
        ensure_tree_volumes(engine, workspace)
        try:
            card = anyio.run(_check, engine, spec, installed, workspace)
        finally:
            volumes = lent(workspace)
            engine.api.remove_volume(volumes.tree, force=True)
            engine.api.remove_volume(volumes.tools, force=True)
    assert (card.canary_passed, card.stray_lines, card.network_attempts) == (True, 50, 0)
    assert (card.files_written, card.state_mb) == (None, None)
    assert (card.install_digest, card.install_mb) == (installed.digest, installed.size_mb)
    assert card.install_mb > 100
    shown = card_text(card)
    assert "unknown: it has a container of its own" in shown
    assert "index unknown" in shown


async def _check(engine: Any, spec: ServerSpec, installed: Any, workspace: str) -> Any:
    return await check_server(
        engine, spec, installed, image=workspace, repository="any", limits=Limits(cpus=1)
    )
