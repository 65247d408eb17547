"""Where a server is among others, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

from runner.benchmarks.agentbench.testbed.testbed import CellSpec
from runner.servers.definition_rules import launch, places_among
from runner.servers.volume import volume_name
from tests.benchmarks.agentbench.servers import LIMITS, installed, spec
from tests.tiny_server import Folder

RECIPE = "0" * 64


def test_a_server_among_others_is_launched_from_its_own_places() -> None:
    one = spec("one", command=("{install}/run", "{workspace}"), env={"INDEX": "{state}/index"})
    plan = launch(one, places_among("one"))
    assert plan.argv == ("/opt/servers/one/run", "/workspace")
    assert plan.env == {
        "HOME": "/var/lib/server/one",
        "TMPDIR": "/var/lib/server/one",
        "INDEX": "/var/lib/server/one/index",
    }
    assert launch(one).argv == ("/opt/server/run", "/workspace")


def test_a_volume_is_shared_unless_its_files_name_where_it_is() -> None:
    plain = Folder(spec("plain"), Path())
    bound = Folder(spec("bound", files={"run": "exec {install}/bin/run"}), Path())
    for server, is_shared in ((plain, True), (bound, False)):
        alone = volume_name(server, RECIPE)
        among = volume_name(server, RECIPE, places_among(server.spec.name))
        assert (alone == among) is is_shared


def test_a_cell_mounts_each_server_at_its_place_and_each_private_folder_once() -> None:
    servers = installed("volume", spec("a", private=(".x",)), spec("b", private=(".x", ".y")))
    made = CellSpec(image="image", limits=LIMITS, servers=servers).container()
    assert made.volumes == {"/opt/servers/a": "volume", "/opt/servers/b": "volume"}
    assert made.private == (".x", ".y")
