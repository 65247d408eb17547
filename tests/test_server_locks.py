"""A server's locks: whose packages they install, and whether a copied folder kept another's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.catalog.catalog import LoadedServer, load_catalog
from runner.catalog.checkout import Checkout
from runner.report.card import card_text
from runner.runs.prepare import install
from runner.servers.lock_checks import lock_remarks, require_own_locks
from runner.support.errors import CatalogError, FairtrialError
from tests.helpers import CARD
from tests.tiny_server import ROOT, Folder, spec_of

SHIPPED = ROOT / "images" / "servers"
OTHERS = [f"package-{number}" for number in range(9)]


def python_server(folder: Path, name: str, pins: dict[str, str]) -> Folder:
    """Asks for the first package of `pins`, in the version that it has."""
    made = folder / "images" / "servers" / name
    made.mkdir(parents=True)
    first, version = next(iter(pins.items()))
    (made / "requirements.in").write_text(f"{first}=={version}\n")
    lines = [f"{one}=={at} \\\n    --hash=sha256:00\n" for one, at in pins.items()]
    (made / "requirements.txt").write_text("".join(lines))
    return Folder(spec_of(name=name, version=version), made)


def copied(server: Folder, name: str, **changes: Any) -> Folder:
    """The folder under another name, with another definition and the old locks."""
    target = server.folder.with_name(name)
    shutil.copytree(server.folder, target)
    spec = server.spec.model_copy(update={"name": name, **changes})
    return Folder(spec, target)


def refused(server: Folder) -> str:
    with pytest.raises(CatalogError) as caught:
        require_own_locks(server)
    return str(caught.value)


def template(tmp_path: Path) -> Folder:
    pins = {"shipped-server": "2.17.1", **dict.fromkeys(OTHERS, "1.0")}
    return python_server(tmp_path, "shipped-server", pins)


# --- against its own definition -------------------------------------------------------------


def test_the_locks_of_every_shipped_server_are_its_own() -> None:
    catalog = load_catalog(ROOT)
    every = [*catalog.servers.values(), *catalog.testbed.values()]
    assert len(every) > 40
    for server in every:
        require_own_locks(server)
    for server in catalog.servers.values():
        assert not any("byte for byte" in line for line in lock_remarks(server, every))


def test_a_server_with_the_lock_of_the_one_it_was_copied_from_is_refused(tmp_path: Path) -> None:
    mine = copied(template(tmp_path), "mine", version="0.3.0")
    (mine.folder / "requirements.in").write_text("my-server==0.3.0\n")
    said = refused(mine)
    assert "images/servers/mine/requirements.txt: does not pin my-server" in said
    assert "uv pip compile --upgrade --universal --generate-hashes" in said


def test_a_server_yaml_about_another_version_than_its_lock_is_refused(tmp_path: Path) -> None:
    said = refused(copied(template(tmp_path), "mine", version="0.3.0"))
    assert "server.yaml: version is 0.3.0, and its locks install shipped-server 2.17.1" in said


def test_a_lock_that_pins_another_version_than_was_asked_for_is_refused(tmp_path: Path) -> None:
    server = template(tmp_path)
    (server.folder / "requirements.in").write_text("Shipped_Server[extra]==2.18.0\n")
    assert "pins shipped-server 2.17.1, and 2.18.0 is asked for" in refused(server)


def test_a_package_without_a_hash_or_a_version_is_named_before_it_is_installed(
    tmp_path: Path,
) -> None:
    server = template(tmp_path)
    path = server.folder / "requirements.txt"
    path.write_text(path.read_text() + "# a comment\nbare==1.0\nloose>=2 --hash=sha256:00\n")
    said = refused(server)
    assert "bare has no hash" in said
    assert "does not pin loose with `==`" in said
    assert "package-0" not in said


def npm_server(folder: Path, *, wanted: str, pinned: str, **entry: str) -> Folder:
    made = folder / "images" / "servers" / "mine"
    made.mkdir(parents=True)
    (made / "package.json").write_text(json.dumps({"dependencies": {wanted: "1.0"}}))
    packages = {"": {}, f"node_modules/{pinned}": {"version": "1.0", **entry}}
    (made / "package-lock.json").write_text(json.dumps({"packages": packages}))
    command = ("node", f"{{install}}/node_modules/{wanted}/index.js")
    return Folder(spec_of(name="mine", version="1.0", command=command), made)


def test_an_npm_lock_of_another_package_is_refused(tmp_path: Path) -> None:
    require_own_locks(npm_server(tmp_path / "own", wanted="@a/b", pinned="@a/b", integrity="x"))
    said = refused(npm_server(tmp_path / "old", wanted="mine", pinned="theirs", integrity="x"))
    assert "package-lock.json: does not pin mine" in said
    assert "server.yaml: command starts mine, which no lock installs" in said
    assert "npm install --package-lock-only" in said


def test_an_npm_package_without_integrity_is_named(tmp_path: Path) -> None:
    assert "mine has no integrity" in refused(npm_server(tmp_path, wanted="mine", pinned="mine"))


def test_what_a_package_brings_inside_itself_needs_no_digest_of_its_own(tmp_path: Path) -> None:
    server = npm_server(tmp_path, wanted="mine", pinned="mine", integrity="x")
    path = server.folder / "package-lock.json"
    lock = json.loads(path.read_text())
    lock["packages"]["node_modules/mine/node_modules/inner"] = {"version": "2", "inBundle": True}
    path.write_text(json.dumps(lock))
    require_own_locks(server)


def test_a_lock_that_is_no_json_is_named(tmp_path: Path) -> None:
    server = npm_server(tmp_path, wanted="mine", pinned="mine", integrity="x")
    (server.folder / "package-lock.json").write_text("{")
    with pytest.raises(FairtrialError, match=r"images/servers/mine/package-lock\.json: not usable"):
        require_own_locks(server)


def test_a_server_of_files_alone_has_no_lock_to_fit(tmp_path: Path) -> None:
    require_own_locks(Folder(spec_of(files={"server.py": ""}), tmp_path))


# --- against the others ---------------------------------------------------------------------


def test_a_lock_that_is_byte_for_byte_anothers_is_said_with_how_to_make_a_fresh_one(
    tmp_path: Path,
) -> None:
    server = template(tmp_path)
    mine = copied(server, "mine")
    remarks = "\n".join(lock_remarks(mine, [server, mine]))
    assert "requirements.txt is byte for byte that of shipped-server: " in remarks
    assert "`uv pip compile --upgrade " in remarks


def test_versions_kept_from_a_copied_lock_are_said_and_fresh_ones_are_not(tmp_path: Path) -> None:
    server = template(tmp_path)
    # `uv pip compile` into a copied requirements.txt keeps the versions that are there.
    kept = python_server(tmp_path, "kept", {"mine": "0.3.0", **dict.fromkeys(OTHERS, "1.0")})
    fresh = {"mine": "0.3.0", **dict.fromkeys(OTHERS, "1.0"), "package-4": "1.1"}
    (first, second) = lock_remarks(kept, [server, kept])
    assert first == "requirements.txt: 10 packages, for mine 0.3.0"
    assert "has shipped-server's versions of all 9 packages that both have" in second
    assert lock_remarks(python_server(tmp_path, "fresh", fresh), [server]) == (first,)


def test_a_few_packages_alike_say_nothing(tmp_path: Path) -> None:
    pins = {"mine": "0.3.0", **dict.fromkeys(OTHERS[:7], "1.0")}
    assert len(lock_remarks(python_server(tmp_path, "mine", pins), [template(tmp_path)])) == 1


# --- on the card ----------------------------------------------------------------------------


def shown(**changes: Any) -> str:
    text = card_text(CARD.model_copy(update=changes))
    assert max(map(len, text.splitlines())) <= 80
    return " ".join(text.split())


def test_stray_lines_are_said_with_what_they_are_whether_they_harm_and_what_to_do() -> None:
    text = shown(stray_lines=655, stray=("INFO ready",))
    assert "655 lines, first 'INFO ready'" in text
    assert "hint lines that are not JSON-RPC" in text
    assert "in no figure" in text and "stderr" in text and "server.yaml" in text


def test_refused_network_attempts_are_said_with_what_to_do() -> None:
    text = shown(network_attempts=28)
    assert "28 attempts hint refused, as a cell has no network" in text
    assert "Harmless to the health probe" in text and "DO_NOT_TRACK" in text
    failing = shown(network_attempts=28, canary_passed=False)
    assert "Harmless" not in failing and "perhaps for want of it" in failing


def test_a_quiet_server_gets_no_hint() -> None:
    assert "hint" not in shown()


def test_the_card_says_what_its_locks_install() -> None:
    lines = ("requirements.txt: 10 packages, for mine 0.3.0",)
    assert "lock requirements.txt: 10 packages, for mine 0.3.0" in shown(locks=lines)


# --- before anything is installed -----------------------------------------------------------


def test_no_verb_installs_a_server_by_a_lock_that_is_not_its_own(tmp_path: Path) -> None:
    copy = copied(template(tmp_path), "own", version="9.9")
    checkout = Checkout(root=tmp_path, state=tmp_path / "state", environ={}, log=lambda _: None)
    loaded = LoadedServer(spec=copy.spec, folder=copy.folder, digest="0" * 64)
    with pytest.raises(CatalogError, match=r"version is 9\.9, and its locks install"):
        install(checkout, loaded)
