"""Install scripts: which are not run, and which a server's own complaint says that it needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.authoring.onboarding.canaries import CanarySearch
from runner.authoring.onboarding.launches import Launch
from runner.authoring.onboarding.locking import _pin_exactly
from runner.authoring.onboarding.programs import Ran
from runner.authoring.onboarding.scripts import (
    notes_on,
    require_scripts,
    unrun_scripts,
    with_scripts,
)
from runner.authoring.onboarding.server_source import NpmPackage, PypiPackage
from runner.authoring.onboarding.start_attempt import StartAttempt
from runner.records import load_json
from runner.support.errors import FairtrialError

ASKED = NpmPackage(name="acme", version="")
INSTALLED = "/opt/server/node_modules/acme/node_modules"
BINDINGS = f"""Error: Could not locate the bindings file. Tried:
 → {INSTALLED}/native/build/native.node
    at bindings ({INSTALLED}/bindings/bindings.js:126:9)"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    places = ("acme", "acme/node_modules/native", "@acme/fetcher")
    packages = {f"node_modules/{place}": {"hasInstallScript": True} for place in places}
    packages["node_modules/acme"] = {"hasInstallScript": False}
    packages["node_modules/acme/node_modules/bindings"] = {}
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": packages}))
    return tmp_path


def scripts(folder: Path, text: str, asked: NpmPackage = ASKED) -> tuple[str, ...]:
    found = with_scripts(asked, folder, [text])
    return () if found is None else found.scripts


def test_the_package_that_a_complaint_names_is_the_one_whose_script_is_run(folder: Path) -> None:
    assert scripts(folder, BINDINGS) == ("native",)
    gone = "Error: spawn /opt/server/node_modules/@acme/fetcher/bin/rg ENOENT"
    assert scripts(folder, gone) == ("@acme/fetcher",)
    assert scripts(folder, gone, NpmPackage(name="acme", version="", scripts=("native",))) == (
        "native",
        "@acme/fetcher",
    )


def test_the_places_where_a_native_part_was_looked_for_are_a_complaint_without_its_head(
    folder: Path,
) -> None:
    places = [f"    '{INSTALLED}/native/{end}/native.node'," for end in ("build", "out/Release")]
    assert scripts(folder, "\n".join(["se/native.node',", *places, "  ]", "}"])) == ("native",)
    assert scripts(folder, f"loaded {INSTALLED}/native/build/native.node in 3 ms") == ()


def test_a_complaint_that_names_none_has_them_all_run(folder: Path) -> None:
    assert scripts(folder, "No native build was found") == ("native", "@acme/fetcher")
    fetched = "acme: download failed. | Try reinstalling: npm install -g acme"
    assert scripts(folder, fetched) == ("native", "@acme/fetcher")


def test_no_script_is_run_for_another_complaint_twice_or_against_the_persons_word(
    folder: Path,
) -> None:
    assert scripts(folder, f"TypeError: x is undefined\n  at {INSTALLED}/native/lib.js:1:1") == ()
    ran = NpmPackage(name="acme", version="", scripts=("native", "@acme/fetcher"))
    assert scripts(folder, BINDINGS, ran) == ()
    assert scripts(folder, BINDINGS, NpmPackage(name="acme", version="", scripts=("none",))) == ()
    assert with_scripts(PypiPackage(name="acme", version=""), folder, [BINDINGS]) is None


def test_a_server_that_starts_and_then_misses_a_native_part_is_tried_no_other_way() -> None:
    search = CanarySearch()
    search.ran["tool init"] = Ran(good=False, output="", failed=BINDINGS)
    attempt = StartAttempt(launch=Launch(why="bare"), search=search)
    assert attempt.is_hopeless
    assert not StartAttempt(launch=Launch(why="bare")).is_hopeless


def test_a_name_without_an_install_script_is_refused_with_those_that_have_one(
    folder: Path,
) -> None:
    require_scripts(folder, ("native",))
    require_scripts(folder, ("none",))
    with pytest.raises(FairtrialError, match="bindings has no install script") as caught:
        require_scripts(folder, ("bindings",))
    assert caught.value.hint == "those that have are: native, @acme/fetcher"


def test_what_is_allowed_stays_in_package_json_when_versions_are_pinned(folder: Path) -> None:
    lock = {"packages": {"": {}, "node_modules/acme": {"version": "1.2.0"}}}
    (folder / "package-lock.json").write_text(json.dumps(lock))
    given = {"dependencies": {"acme": "latest"}, "allowScripts": {"native": True}}
    (folder / "package.json").write_text(json.dumps(given))
    _pin_exactly(folder, "acme")
    saved = load_json((folder / "package.json").read_text())
    assert saved == {"dependencies": {"acme": "1.2.0"}, "allowScripts": {"native": True}}


def test_scripts_that_are_run_are_a_note_and_no_longer_said_to_be_left_out(folder: Path) -> None:
    assert [text.split()[0] for text in unrun_scripts(folder)] == ["native", "@acme/fetcher"]
    (folder / "package.json").write_text('{"allowScripts": {"native": true}}')
    assert [text.split()[0] for text in unrun_scripts(folder)] == ["@acme/fetcher"]
    assert "in no lock" in notes_on(("native",))[0]
    assert notes_on(("none",)) == ()


def test_a_package_whose_install_script_is_not_run_is_named_with_what_it_brings_instead(
    tmp_path: Path,
) -> None:
    packages = {
        "node_modules/native": {"hasInstallScript": True},
        "node_modules/built": {"hasInstallScript": True, "optionalDependencies": {"built-l": "1"}},
        "node_modules/built-l": {},
        "node_modules/other": {"hasInstallScript": True, "optionalDependencies": {"other-w": "1"}},
        "node_modules/plain": {},
    }
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": packages}))
    assert unrun_scripts(tmp_path) == [
        "native (it brings nothing built beforehand)",
        "built (built beforehand in built-l, which is installed)",
        "other (none of what it has built beforehand is for this platform)",
    ]
    assert unrun_scripts(tmp_path / "none") == []
