"""`fairtrial compare` on a server with one fault planted: each is caught, named and placed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import jsonschema
import pytest

from runner.records.versions import VersionChange, VersionComparison
from runner.report.version_forms import MOST_LINES
from tests.checkout import SESSION, Checkout, make
from tests.trying.test_try import remove_volumes

SERVER = (Path(__file__).parent / "ledger.py.txt").read_text("utf-8") + f"# {SESSION}\n"
PROJECT = """\
[project]
name = "ledger"
version = "1.0.0"
[project.scripts]
ledger = "ledger:main"
"""
DOUBLED = 'ABOUT = "Find a text in the files of the repository. " + "It may be any text. " * 60'

pytestmark = pytest.mark.docker
EVERY = bool(os.environ.get("EVERY_PLANTED_FAULT"))


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient
) -> Iterator[Checkout]:
    checkout = make(tmp_path_factory.mktemp("compare"))
    folder(checkout.root / "base")
    with without_volumes(engine, checkout.root / ".fairtrial"):
        yield checkout
    checkout.remove_images(engine)


@contextmanager
def without_volumes(engine: docker.DockerClient, state: Path) -> Iterator[None]:
    """What the versions that were tried there were installed into; not what tests beside it use."""
    yield
    for tried in (state / "tries").iterdir():
        # Behind the server's name stands what its scenario and options are known by.
        remove_volumes(engine, tried.name.rpartition("-")[0])


def folder(top: Path, *planted: tuple[str, str]) -> Path:
    text = SERVER
    for line, fault in planted:
        assert text.count(line) == 1, line
        text = text.replace(line, fault)
    place = top / "ledger"
    place.mkdir(parents=True)
    (place / "pyproject.toml").write_text(PROJECT)
    (place / "ledger.py").write_text(text)
    return place


def compared(
    made: Checkout, head: Path, out: Path, *options: str
) -> tuple[subprocess.CompletedProcess[str], VersionComparison]:
    words = ("--scenario", "small", "--out", str(out), *options)
    done = made.said("compare", *words, str(made.root / "base/ledger"), str(head))
    assert (out / "compare.json").is_file(), done.stderr
    found = VersionComparison.model_validate_json((out / "compare.json").read_text("utf-8"))
    return done, found


FAULTS = [
    pytest.param(
        ('FIND = "find_text"', 'FIND = "look_up"'),
        "tools:renamed:find_text",
        'FIND = "look_up"',
        id="a tool renamed",
    ),
    pytest.param((SERVER.splitlines()[9], DOUBLED), "tokens:more", "", id="its schema doubled"),
    pytest.param(("SHIFT = 0", "SHIFT = 1"), "session:shifted:*", "FIND", id="lines off by one"),
    pytest.param(
        ('return "\\n".join(files())', 'return ""'),
        "session:empty:list_files",
        '"name": "list_files"',
        id="empty answers",
    ),
    pytest.param(("START_SEC = 0", "START_SEC = 5"), "ready:more", "", id="a slow start"),
    pytest.param(
        ("LAST_CALL = 0", "LAST_CALL = 10"), "session:died:*", "", id="a crash in call ten"
    ),
    pytest.param(
        ('"default": 50', '"default": 1'),
        "schema:default:find_text.limit",
        '"limit": LIMIT',
        id="a default changed",
    ),
    pytest.param(
        ("FOUND = 50", "FOUND = 1"), "session:less:find_text", "FIND", id="a default untold"
    ),
]
"""Planted text, the name it is found by, and the line where it is placed."""
ALWAYS = ("lines off by one", "a crash in call ten")
"""Of each sort one, since each takes a minute, and a renamed tool below: `just test-planted`
plants all of them."""
QUIET = ("start", "tools", "schema", "tokens", "protocol", "session", "exact")
"""One examination does for these. All are asked of each fault by `just test-planted`, and of no
fault by the test below."""


@pytest.mark.parametrize(
    ("planted", "name", "place"), [it for it in FAULTS if EVERY or it.id in ALWAYS]
)
def test_a_planted_fault_is_caught_named_and_placed(
    made: Checkout, tmp_path: Path, planted: tuple[str, str], name: str, place: str
) -> None:
    head = folder(tmp_path, planted)
    only = () if EVERY else [word for it in QUIET for word in ("--only", it)]
    done, found = compared(made, head, tmp_path / "out", *only)
    assert done.returncode == 1, done.stderr
    assert found.verdict == "regression"
    stopping = [it for it in found.changes if it.stops]
    known = [it for it in stopping if it.name.startswith(name.rstrip("*"))]
    assert known, [it.name for it in stopping]
    if place:
        assert place in require_line(known[0], head)


def require_line(change: VersionChange, head: Path) -> str:
    """The line at which it is placed."""
    assert change.path == "ledger.py"
    return (head / change.path).read_text().splitlines()[change.line - 1]


@pytest.mark.parametrize("_time", range(10 if EVERY else 1))
def test_the_same_version_twice_alarms_nobody(made: Checkout, tmp_path: Path, _time: int) -> None:
    done, found = compared(made, made.root / "base/ledger", tmp_path)
    assert done.returncode == 0, done.stdout
    assert found.changes == ()
    assert found.calls >= 20
    assert found.unstable == 0
    assert len(found.base.readings) == len(found.head.readings) == 3
    assert found.sentence in done.stdout
    lines = (tmp_path / "compare.md").read_text("utf-8").splitlines()
    assert len(lines) <= MOST_LINES
    assert found.sentence.split("(")[0] in lines[1].replace("\\", "")
    assert json.loads((tmp_path / "compare.sarif").read_text())["version"] == "2.1.0"
    jsonschema.validate(
        json.loads((tmp_path / "compare.json").read_text()), VersionComparison.model_json_schema()
    )


def test_what_is_meant_is_allowed_with_a_reason_and_shown(made: Checkout, tmp_path: Path) -> None:
    head = folder(tmp_path, ('FIND = "find_text"', 'FIND = "look_up"'))
    options = ("--only", "tools", "--allow", "tools:renamed:*")
    words = ("--scenario", "small", "--out", str(tmp_path / "no"), *options)
    done = made.said("compare", *words, str(made.root / "base/ledger"), str(head))
    assert done.returncode == 1
    assert "what is allowed has a reason" in done.stderr
    done, found = compared(made, head, tmp_path / "out", *options, "--reason", "for 2.0")
    assert done.returncode == 0, done.stderr
    (change,) = found.changes
    assert (change.name, change.allowed) == ("tools:renamed:find_text", "for 2.0")
    assert require_line(change, head).startswith('FIND = "look_up"')
    assert "[allowed: for 2.0]" in (tmp_path / "out/compare.md").read_text()


def test_a_head_that_does_not_start_is_a_regression_and_a_base_an_error(
    made: Checkout, tmp_path: Path
) -> None:
    broken = folder(tmp_path, ("import json", "import json, no_such_module"))
    done, found = compared(made, broken, tmp_path / "out", "--only", "start")
    assert done.returncode == 1
    assert [it.name for it in found.changes] == ["start:fails"]
    words = ("compare", "--scenario", "small", "--out", str(tmp_path / "not"))
    done = made.said(*words, str(broken), str(made.root / "base/ledger"))
    assert done.returncode == 1
    assert done.stderr.count("error:") == 1
    assert not (tmp_path / "not").exists()


def test_a_head_that_alone_had_to_be_mended_is_told_by_what_it_needed(
    made: Checkout, tmp_path: Path
) -> None:
    """Its program is another one now: nobody who has the base's words can start it."""
    head = folder(
        tmp_path,
        ("def main():", 'def main():\n    sys.exit("moved to ledger-serve")\n\n\ndef serve():'),
    )
    project = head / "pyproject.toml"
    project.write_text(project.read_text() + 'ledger-serve = "ledger:serve"\n')
    done, found = compared(made, head, tmp_path / "out", "--only", "start")
    assert done.returncode == 1, done.stderr
    (change,) = found.changes
    assert change.name == "start:otherwise"
    assert "it needs what the base does not: entry point ledger-serve" in change.says
