"""A verb is one file: its words, its request and what it does. `--help` reads none of them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from runner.cli import verbs
from runner.cli.main import make_parser
from runner.cli.options import Request, request_of

RUNNER = Path(verbs.__file__).parents[2]
VERBS = [name for name in verbs.VERBS if not verbs.is_group(name)]
WORDS = {
    "agentbench annotate": ["drafts.yaml"],
    "agentbench generate": ["drafts.yaml"],
    "agentbench record": ["queries.yaml"],
    "agentbench report": ["r"],
    "agentbench review": ["drafts.yaml"],
    "agreement": ["ratings.csv"],
    "anchors": ["propose"],
    "attest": ["r"],
    "cell": ["small", "shell"],
    "executor check": ["exchange"],
    "executor tell": ["r", "pause"],
    "executor worker": ["host:1"],
    "ground": ["--repo", ".", "text.md"],
    "import claude-code": ["x.jsonl", "--scenario", "small"],
    "import scenario": ["x.yaml", "--repo", ".", "--language", "any"],
    "judge": ["r"],
    "judge-noise": ["r"],
    "cell show": ["r", "c"],
    "compare": ["npm:x@1", "npm:x@2"],
    "merge": ["r"],
    "report": ["r"],
    "scenario new": ["--repo", "."],
    "score": ["r"],
    "server": ["list"],
    "toolbench check": ["data.json"],
    "toolbench report": ["r"],
    "toolbench run": ["data.json"],
    "toolbench score": ["data.json"],
    "trend": ["x"],
    "try": ["npm:x"],
    "verify-report": ["r.json"],
}
"""The fewest that a verb takes; none for any other."""


def test_the_table_of_verbs_and_the_files_are_the_same() -> None:
    folder = Path(verbs.__file__).parent
    files = {f"{verbs.__name__}.{path.stem}" for path in folder.glob("*.py")}
    assert files == {verbs.module_of(name) for name in VERBS} | {f"{verbs.__name__}.__init__"}


@pytest.mark.parametrize("name", VERBS)
def test_a_verbs_file_holds_its_request_and_what_it_does(name: str) -> None:
    module = import_module(verbs.module_of(name))
    assert issubclass(module.Verb, Request)
    assert vars(module.Verb)["__dataclass_params__"].frozen
    assert module.Verb.__module__ == module.run.__module__ == module.__name__


@pytest.mark.parametrize("name", VERBS)
def test_each_field_of_a_request_is_declared_once_with_its_words(name: str) -> None:
    kind = import_module(verbs.module_of(name)).Verb
    names = [item.name for item in said(kind)]
    assert len(set(names)) == len(names)
    assert all("form" in item.metadata for item in said(kind))
    inherited = {item.name for item in fields(Request)}
    assert inherited.isdisjoint(names)


def said(kind: type[Any]) -> Iterator[Any]:
    """The fields that words fill, of the groups as well."""
    for item in fields(kind):
        if "group" in item.metadata:
            yield from said(item.metadata["group"])
        elif item.name != "root":
            yield item


@pytest.mark.parametrize("name", VERBS)
def test_what_is_not_said_is_the_fields_own_default(name: str) -> None:
    kind = import_module(verbs.module_of(name)).Verb
    arguments = make_parser(80).parse_args([*name.split(), *WORDS.get(name, [])])
    request = request_of(kind, arguments)
    hash(request)  # frozen throughout: what may be repeated is a tuple
    assert request.root == Path.cwd()
    for item in fields(kind):
        if "form" in item.metadata and item.name not in vars(arguments):
            assert getattr(request, item.name) == item.default


def test_help_of_the_command_imports_no_verb_and_nothing_that_takes_long() -> None:
    code = "import sys; from runner.cli.main import make_parser; make_parser(80).format_help()"
    heavy = "{'dataclasses', 'typing', 'pathlib', 'json', 'shutil', 'pydantic'}"
    shown = f"{code}; print(sorted({heavy} & sys.modules.keys()))"
    loaded = f"print([n for n in sys.modules if n.startswith('{verbs.__name__}.')])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"{shown}; {loaded}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=RUNNER.parent,
    )
    assert done.stdout == "[]\n[]\n"


def test_nothing_outside_the_command_line_imports_it() -> None:
    outside = [it for it in RUNNER.rglob("*.py") if not it.is_relative_to(RUNNER / "cli")]
    found = [it for it in outside if re.search(r"runner(\.| import )cli\b", it.read_text("utf-8"))]
    assert found == []
