"""A program that asks for a newer C library is known by the loader's own words."""

from __future__ import annotations

from pathlib import Path

from runner.authoring.onboarding.c_library import lacks_newer, on_newer
from runner.authoring.onboarding.installed import Installed
from runner.authoring.onboarding.installing import Candidate

BUILT = "/opt/server/node_modules/tool-linux-x64/tool"
C = "/lib/x86_64-linux-gnu/libc.so.6"
COMMAND = ("node", "{install}/tool.js")


def candidate() -> Candidate:
    entries = {"tool": COMMAND, "other": ("node", "{install}/other.js")}
    installed = Installed(name="tool", version="1", entries=entries)
    return Candidate(folder=Path("tool"), installed=installed, files={})


def test_the_program_that_complains_is_started_and_not_what_started_it() -> None:
    said = f"{BUILT}: {C}: version `GLIBC_2.39' not found (required by {BUILT})"
    found = on_newer(candidate(), COMMAND, ["", said])
    assert found is not None
    script, program = found.installed.entries["tool"][1:]
    assert program == "{install}/node_modules/tool-linux-x64/tool"
    assert script.removeprefix("{install}/") in found.files
    assert found.installed.entries["other"] == ("node", "{install}/other.js")
    assert on_newer(found, found.installed.entries["tool"], [said]) is None


def test_a_library_that_complains_takes_its_whole_program_along() -> None:
    said = f"Error: {C}: version `GLIBC_2.38' not found (required by /opt/server/a/b.node)"
    found = on_newer(candidate(), COMMAND, [said])
    assert found is not None
    assert found.installed.entries["tool"][2:] == COMMAND


def test_no_other_complaint_is_taken_for_it() -> None:
    for said in ("GLIBC_2.39 is fine", f"{C}: cannot open shared object file", ""):
        assert not lacks_newer([said])
        assert on_newer(candidate(), COMMAND, [said]) is None
