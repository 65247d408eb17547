"""README.md, docs/ and their kin: they show what the program prints, and links lead somewhere.

A ```console block is run, command by command, in an empty folder of its page; a line `…` stands for
any lines, and `…` inside of a line for any text. A block whose language is followed by a file's
name (```csv votes.csv) is that file, there for the commands below it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from runner.cli.main import make_parser
from tests import cli_page
from tests.helpers import PATIENCE_SEC

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / name for name in ("README.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += DOCS
LARGEST_BYTES = {
    "README.md": 10_240,
    "DESIGN.md": 10_240,
    "CONTRIBUTING.md": 10_240,
    "CHANGELOG.md": 6_144,
}
NETWORK = "asks a registry, or clones"
KEY = "a provider answers, and wants a key"
OWN = "the reader's own server, repository, data or file"
OTHERS = "several machines; tests/test_cli.py merges two shards of real cells"
NOT_RUN = {
    "README.md: uv build --wheel": "tests/test_wheel.py builds a wheel, and runs what is in it",
    "README.md: ./justw demo": "gets an engine and a virtual environment; `fairtrial demo` is run",
    "README.md: fairtrial try npm:@modelcontextprotocol/server-filesystem": NETWORK,
    "README.md: fairtrial run --exact --repo ../shop": (
        "tests/trying/test_try_images.py runs it on a repository and an image of its own"
    ),
    "CONTRIBUTING.md: fairtrial scenario new --repo ../click --questions 2": NETWORK,
    "CONTRIBUTING.md: fairtrial check callers-of-format-filename": NETWORK,
    "agentbench.md: fairtrial agentbench run --mode react": "all queries take many minutes",
    "agentbench.md: fairtrial agentbench report RUN": OWN,
    "compare.md: fairtrial compare npm:@modelcontextprotocol/server-filesystem": NETWORK,
    "compare.md: fairtrial compare ../base/my-server": OWN,
    "exact.md: fairtrial run --exact": "tests/benchmarks/test_exact.py runs two questions so",
    "gate.md: fairtrial verify-anchors": "tests/test_wheel.py compares what it says with the page",
    "import.md: fairtrial import claude-code --scenario flask-error-handling": OWN,
    "import.md: fairtrial import scenario flask.yaml": OWN,
    "judging.md: fairtrial judge RUN --judge model:claude-sonnet-4-6 --dry-run": OWN,
    "judging.md: fairtrial anchors qualify": KEY,
    "keys.md: fairtrial exact make --repo ../shop": OWN,
    "models.md: export ANTHROPIC_API_KEY=…": KEY,
    "projects.md: fairtrial init trials": OWN,
    "projects.md: fairtrial scenario new --repo ../shop --questions 2": OWN,
    "studies.md: fairtrial run --model claude-sonnet-4-5 --server NAME --trials 5": KEY,
    "scale.md: fairtrial run": OTHERS,
    "scale.md: fairtrial merge": OTHERS,
    "scale.md: docker save": OTHERS,
    "scale.md: openssl": "tests/scale/certificates.py makes the same",
    "scale.md: fairtrial executor scheduler": OTHERS,
    "scale.md: fairtrial executor tell": "a run at work; tests/scale/test_dask.py tells one",
    "toolbench.md: fairtrial toolbench run DATA --model claude-sonnet-4-5": KEY,
    "try.md: fairtrial try npm:@modelcontextprotocol/server-filesystem": NETWORK,
    "try.md: fairtrial run --scenario flask-error-handling": "the demo does, in the same minutes",
}
"""Blocks that are not run, by their page and how their first command begins, and why."""
ENGINE = {
    "README.md: fairtrial demo",
    "README.md: fairtrial run --exact --scenario flask --server mcp-ripgrep",
    "try.md: fairtrial server check code-index-mcp",
}
"""Blocks whose commands need a Docker Engine. Seconds, and scores that hold them, are another
machine's: of figures only that they are figures is compared."""

FENCE = re.compile(r"^( *)```(.*)$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
NAMED = re.compile(r"\bdocs/\w+\.md\b")
CODE = re.compile(r"`[^`\n]*`")
FIGURE = re.compile(r" *[-+]?\d(?:[\d,]|\.\d)*")
"""`  0.272`, ` -0.022`, `+0.013`, `69`."""
AT_COMMAND = 'cd "$(cat "$1")" && eval "$2"; code=$?; pwd >"$1"; exit $code'
"""One command line in the folder that the one before it ended in."""


class Fenced(NamedTuple):
    page: Path
    info: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A ```console block: commands, each with what it prints."""

    page: Path
    commands: tuple[tuple[str, tuple[str, ...]], ...]
    files: tuple[Fenced, ...]
    """That stand above it on its page."""

    @property
    def name(self) -> str:
        first, _, _ = self.commands[0][0].partition(" #")
        return f"{self.page.name}: {first.strip()}"


def fenced(page: Path) -> Iterator[Fenced]:
    info, indent, lines = None, 0, list[str]()
    for line in page.read_text("utf-8").splitlines():
        fence = FENCE.match(line)
        if fence and info is None:
            indent, info, lines = len(fence[1]), fence[2], []
        elif fence and info is not None:
            yield Fenced(page, info, tuple(lines))
            info = None
        elif info is not None:
            lines.append(line[indent:])
    assert info is None, f"{page}: a fence is left open"


def blocks_of(page: Path) -> Iterator[Block]:
    files = list[Fenced]()
    for block in fenced(page):
        if " " in block.info:
            files.append(block)
        elif block.info == "console":
            yield Block(page, tuple(_commands(block.lines)), tuple(files))


def _commands(lines: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"a console block begins with a command: {lines[:1]}"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield lines[start].removeprefix("$ "), lines[start + 1 : end]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
SHOWN = [block for block in BLOCKS if block.name.startswith(tuple(NOT_RUN))]
RUN = [block for block in BLOCKS if block not in SHOWN]


# --- commands and what they print ---------------------------------------------------------------


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=block.name, marks=[pytest.mark.docker] * (block.name in ENGINE))
        for block in RUN
    ],
)
def test_a_block_prints_what_its_page_shows(block: Block, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    for file in block.files:
        path = folder / file.info.split()[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(file.lines) + "\n", encoding="utf-8")
    folder.mkdir(exist_ok=True)
    # What is fetched for a page's commands was fetched for the checkout's own.
    (tmp_path / "caches").mkdir()
    (tmp_path / "caches/fairtrial").symlink_to(ROOT / ".fairtrial")
    where = tmp_path / "where"
    where.write_text(str(folder), encoding="utf-8")
    for command, shown in block.commands:
        printed = _run(command, where, tmp_path)
        loose = block.name in ENGINE
        assert fits(shown, printed, loose=loose), f"$ {command}\n{printed}"


def _run(command: str, where: Path, tmp_path: Path) -> str:
    """stdout and stderr, as a terminal of 80 columns shows them."""
    done = subprocess.run(
        ["bash", "-c", AT_COMMAND, "bash", str(where), command],
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "80",
            "HOME": str(tmp_path),
            "XDG_CACHE_HOME": str(tmp_path / "caches"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{f"GIT_{who}_{what}": "a@example.org" for who in ROLES for what in ("NAME", "EMAIL")},
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3 * PATIENCE_SEC,  # on a crowded machine a demo takes many minutes
        check=False,
    )
    return done.stdout


ROLES = ("AUTHOR", "COMMITTER")


def fits(shown: tuple[str, ...], printed: str, *, loose: bool = False) -> bool:
    """`shown` without a line is a command whose answer is of no interest on that page.

    `loose`: any figure is as good as another.
    """
    if not shown:
        return True
    read = _without_figures if loose else str.rstrip
    parts = [_pattern(read(line)) for line in shown]
    text = "".join(f"{read(line)}\n" for line in printed.rstrip().splitlines())
    return re.fullmatch("".join(parts), text) is not None


def _without_figures(line: str) -> str:
    return re.sub(" +", " ", FIGURE.sub(" 0", line.rstrip()))


def _pattern(line: str) -> str:
    if line.strip() == "…":
        return "(?:[^\n]*\n)*?"
    return "[^\n]*?".join(map(re.escape, line.split("…"))) + "\n"


def test_each_block_that_is_not_run_or_needs_an_engine_is_on_a_page() -> None:
    names = [block.name for block in BLOCKS]
    assert set(names) >= ENGINE
    assert not [told for told in NOT_RUN if not any(name.startswith(told) for name in names)]


@pytest.mark.parametrize("block", [pytest.param(block, id=block.name) for block in SHOWN])
def test_a_command_that_is_only_shown_is_one_that_the_parser_takes(block: Block) -> None:
    for command, _ in block.commands:
        words = shlex.split(command, comments=True)
        if words[0] == "fairtrial":
            make_parser(80).parse_args(words[1:])  # else it exits with 2


def test_an_ellipsis_stands_for_anything_and_nothing_else_does() -> None:
    assert fits(("a … c", "…", "z"), "a b c\nx\ny\nz\n")
    assert fits(("a … c", "…", "z"), "a b c\nz\n")
    assert not fits(("a … c", "…", "z"), "a b d\nx\nz\n")
    assert not fits(("a",), "a\nb\n")
    assert fits(("b  1.5  ~12",), "b 10.5 ~1,200\n", loose=True)
    assert fits(("a  +0.000",), "a -0.012\n", loose=True), "which arm is ahead is a figure"
    assert not fits(("b  1.5",), "b    —\n", loose=True)


def test_the_page_of_the_command_line_is_what_help_prints() -> None:
    # Python's versions break the lines of a usage otherwise.
    made, kept = cli_page.made_page().split(), cli_page.PAGE.read_text("utf-8").split()
    assert made == kept, "docs/cli.md is stale: .venv/bin/python -m tests.cli_page makes it again"


# --- links and sizes ----------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_are_there(page: Path) -> None:
    missing = [link for link in _links(page) if not _is_there(page, link)]
    assert missing == []


def _links(page: Path) -> Iterator[str]:
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for found in LINK.finditer(CODE.sub("", text)):
        if not found[1].startswith(("https://", "http://")):
            yield found[1]


def _is_there(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name) if name else page
    if not target.exists():
        return False
    return not anchor or anchor in set(_anchors(target))


def _anchors(page: Path) -> Iterator[str]:
    """As hosts of Markdown make them of headings."""
    for heading in HEADING.findall(page.read_text("utf-8")):
        kept = re.sub(r"[^\w\- ]", "", heading.lower())
        yield kept.replace(" ", "-")


def test_pages_that_the_code_names_are_there() -> None:
    code = (ROOT / "runner").rglob("*.py")
    named = {name for path in code for name in NAMED.findall(path.read_text("utf-8"))}
    assert named
    assert not [name for name in named if not (ROOT / name).is_file()]


def test_each_page_is_named_on_the_first_one() -> None:
    named = set(_links(ROOT / "README.md"))
    assert {f"docs/{page.name}" for page in DOCS} <= named


@pytest.mark.parametrize("name", LARGEST_BYTES)
def test_a_first_page_stays_short(name: str) -> None:
    assert (ROOT / name).stat().st_size <= LARGEST_BYTES[name]
