"""`fairtrial try docker:IMAGE`: from an image to a report, with the real command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from runner.authoring.onboarding.published_images import DockerImage
from runner.authoring.onboarding.server_source import read_asked, slug_of
from runner.sandbox.engine import image_id, remove_image
from runner.sandbox.tree_volume import lent
from runner.support.errors import FairtrialError
from tests.checkout import SESSION, Checkout, make
from tests.exact.test_make import MANY
from tests.images import FOREIGN_ENTRYPOINT, LABELS, committed, foreign, foreign_root
from tests.proposing.trees import commit
from tests.registry import holding, served
from tests.trying.test_try import saved_in, tried

HERE = Path(__file__).parent
HTTP_SERVER = (HERE / "http_server.py.txt").read_text(encoding="utf-8")
SERVER = (HERE / "server.py.txt").read_text(encoding="utf-8")
NAME = f"fairtrial-test/foreign-{SESSION[:8]}:1"

# --- what is asked for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "repository"),
    [
        ("docker:acme/server", "acme/server", "acme/server"),
        ("docker:acme/server:1.2", "acme/server:1.2", "acme/server"),
        ("docker:localhost:5000/a/b_c", "localhost:5000/a/b_c", "localhost:5000/a/b_c"),
        ("docker:registry.example.org:5000/a:2", "registry.example.org:5000/a:2",
         "registry.example.org:5000/a"),
    ],
)  # fmt: skip
def test_an_image_is_read_with_its_tag_and_its_registrys_port(
    text: str, name: str, repository: str
) -> None:
    found = read_asked(text, ())
    assert found == DockerImage(name=name, digest="")
    assert found.repository == repository
    pinned = read_asked(f"{text}@sha256:{'0' * 64}", ())
    assert pinned == DockerImage(name=name, digest="0" * 64)


def test_a_server_is_called_like_the_last_word_of_its_image() -> None:
    asked = DockerImage(name="registry.example.org/acme/Code.Server:1", digest="")
    assert slug_of(asked) == "code-server"


def test_docker_run_as_a_readme_has_it_is_answered_with_what_to_say_here() -> None:
    words = (
        "docker run -i --rm -v /Users/me/code:/work:ro --env=A=1 -e TOKEN -p 80:80 "
        "acme/server:1 --root /work"
    ).split()
    with pytest.raises(FairtrialError) as caught:
        read_asked("", tuple(words))
    hint = caught.value.hint
    assert "`fairtrial try docker:acme/server:1 --args='--root /work'`" in hint
    for said in ("without -v", "--env NAME=VALUE", "without -p", "{workspace}"):
        assert said in hint
    with pytest.raises(FairtrialError, match="names no image"):
        read_asked("", ("docker", "run", "-i"))


# --- the whole way ------------------------------------------------------------------------------


def workspaces(made: Checkout) -> list[str]:
    """Ids of the workspace images that it has built."""
    memory = json.loads((made.root / ".fairtrial/images.json").read_text())
    return [it for name, it in memory.items() if name.startswith("fairtrial/workspace:")]


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient
) -> Iterator[Checkout]:
    checkout = make(tmp_path_factory.mktemp("try-image"))
    yield checkout
    for image in workspaces(checkout):
        volumes = lent(image)
        engine.api.remove_volume(volumes.tree, force=True)
        engine.api.remove_volume(volumes.tools, force=True)
    checkout.remove_images(engine)


@pytest.fixture(scope="module")
def image(engine: docker.DockerClient, base_image: str) -> Iterator[str]:
    with foreign(engine, base_image, NAME) as made:
        yield made


@pytest.mark.docker
def test_one_command_goes_from_an_image_to_a_report_and_its_digest_is_its_lock(
    made: Checkout, engine: docker.DockerClient, image: str
) -> None:
    project = made.root / "mine"
    done = tried(made, f"docker:{NAME}", "--save", str(project))
    assert f"guessed: the image of that name now, {NAME}@{image}" in done.stderr
    assert "2.5 (Zlib)" in done.stderr
    assert "its tools were called" in done.stdout
    spec, folder = saved_in(project)
    assert (spec.image, spec.command) == (f"{NAME}@{image}", ("{workspace}",))
    assert [path.name for path in folder.iterdir()] == ["server.yaml"]
    assert sorted(spec.canaries[0].contains.split(":")[:1]) == ["app.py"]
    results = (made.root / ".fairtrial/tries").glob(f"{folder.name}-*/runs/*/cells/*/*/result.json")
    cells = [json.loads(path.read_text()) for path in results]
    measured = {cell["cell"]["server"]: cell for cell in cells}
    assert {cell["outcome"]["kind"] for cell in cells} == {"answered"}
    ours, shell = measured[folder.name]["fingerprint"], measured["shell"]["fingerprint"]
    assert ours["container"] == shell["container"]
    assert ours["server_version"] == "2.5"
    assert measured[folder.name]["state_mb"] is None

    shutil.copytree(folder, made.root / "images/servers" / folder.name)
    checked = made.said("server", "check", folder.name, "--scenario", "small")
    assert checked.returncode == 0, checked.stderr
    assert f"image {NAME}@{image[:20]}" in " ".join(checked.stdout.split())
    called = made.said(
        "server", "call", folder.name, "find_symbol", '{"name": "finish_up"}', "--scenario", "small"
    )
    assert called.stdout.startswith("app.py:5:")
    made.edit(f"images/servers/{folder.name}/server.yaml", image, f"sha256:{'0' * 64}")
    for verb in (("server", "check", folder.name), ("run", "--server", folder.name, "--ungated")):
        refused = made.said(*verb, "--scenario", "small")
        assert refused.returncode != 0
        assert f"is {image}" in refused.stderr, refused.stderr
        assert "docker pull" in refused.stderr
    assert engine.api.containers(all=True, filters={"ancestor": image}) == []


@pytest.mark.docker
def test_an_image_that_waits_at_a_port_is_found_out_and_reached(
    made: Checkout, engine: docker.DockerClient, base_image: str
) -> None:
    start = 'ENTRYPOINT ["python3", "/server.py"]'
    name = f"fairtrial-test/waiting-{SESSION[:8]}"
    with committed(engine, base_image, {"server.py": HTTP_SERVER}, start, name=name):
        done = tried(made, f"docker:{name}", "--dry-run")
    assert "guessed: it waits at a port" in done.stderr
    assert "bare, over HTTP): 1 tool, and a health probe" in done.stderr
    assert "passes on" in done.stdout


@pytest.mark.docker
def test_a_folder_that_an_image_insists_on_writing_becomes_its_own(
    made: Checkout, engine: docker.DockerClient, base_image: str
) -> None:
    start = 'ENTRYPOINT ["python3", "/server.py", "own"]'
    name = f"fairtrial-test/wanting-{SESSION[:8]}"
    with committed(engine, base_image, {"server.py": SERVER}, start, "USER 1234", name=name) as it:
        done = tried(made, f"docker:{name}@{it}", "--dry-run")
    assert ".own becomes its own folder (private)" in done.stderr
    assert "passes on" in done.stdout
    for workspace in workspaces(made):
        engine.api.remove_volume(lent(workspace, (".own",)).tree, force=True)


@pytest.mark.docker
def test_an_image_that_is_not_here_is_pulled_and_pinned_by_its_registrys_digest(
    made: Checkout, engine: docker.DockerClient, base_image: str
) -> None:
    tar = foreign_root(engine, base_image)
    with served(holding(tar, FOREIGN_ENTRYPOINT, LABELS)) as registry:
        name = f"{registry.address}/acme/pulled"
        reference = f"{name}@{registry.digest}"
        try:
            done = tried(made, f"docker:{name}", "--dry-run")
            assert f"{name} is not on the engine: pulling it" in done.stderr
            assert f"guessed: the image of that name now, {reference};" in done.stderr
            asked = len(registry.asked)
            tried(made, f"docker:{reference}", "--dry-run")
            assert len(registry.asked) == asked, "it was pulled though it was there"
        finally:
            if (found := image_id(engine, name)) is not None:
                remove_image(engine, found)
        gone = made.said("server", "call", "pulled", "find_symbol", '{"name": "x"}')
        assert gone.returncode == 1
        assert f"`docker pull {reference}`" in gone.stderr
        assert len(registry.asked) == asked, "a cell pulled an image"


@pytest.mark.docker
def test_an_image_that_nobody_can_pull_ends_it_with_what_to_do(made: Checkout) -> None:
    asked = f"localhost:1/nobody/has@sha256:{'1' * 64}"
    done = tried(made, f"docker:{asked}", code=1)
    assert f"{asked} is not on the engine: pulling it" in done.stderr
    assert "it cannot be pulled" in done.stderr
    assert f"docker pull {asked}" in done.stderr


# --- in a run of one repository -----------------------------------------------------------------


@pytest.mark.docker
def test_a_run_of_one_repository_defines_the_package_that_it_is_asked_to_measure(
    made: Checkout, image: str, tmp_path: Path
) -> None:
    # The image's server looks at the top folder alone.
    commit(tmp_path / "shop", {Path(name).name: text for name, text in MANY.items()})
    server = f"docker:{NAME}"
    words = ("--exact", "--repo", str(tmp_path / "shop"), "--questions", "2")
    arms = ("--arms", f"{server},{server}+20")
    estimated = made.said("run", *words, *arms, "--model", "claude-opus-4-5", "--dry-run")
    assert estimated.returncode == 0, estimated.stderr
    assert "6 cells: 2 scenarios × 3 arms" in estimated.stdout
    assert "is neither installed nor started for an estimate" in estimated.stdout
    assert "differences in F1 that it would find" in estimated.stdout
    assert "$" in estimated.stdout
    assert "1/6 locking" not in estimated.stderr
    done = made.said("run", *words, *arms, "--ungated", "--run", "r")
    assert done.returncode == 0, done.stderr
    assert "3/6 proving the definition in a fresh cell" in done.stderr
    (run,) = (made.root / ".fairtrial/exact").glob("*/runs/r")
    keyed = json.loads((run / "report.json").read_text())["keyed"]
    found = {arm["label"]: arm["f1"]["value"] for arm in keyed["arms"]}
    name = f"try-{slug_of(read_asked(server, ()))}"
    assert found.keys() == {"shell", name, f"{name}+20"}
    assert found[f"{name}+20"] <= found[name]
    again = made.said("run", *words, *arms, "--ungated", "--run", "r")
    assert "is defined already" in again.stderr
    shown = made.said("--root", str(run.parent.parent), "report", "r", "--ungated")
    assert f"{name}+20" in shown.stdout
    assert "6 of 6 cells are finished and kept" in again.stderr
    assert not (made.root / "images/servers" / name).exists()
