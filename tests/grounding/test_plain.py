"""A chunk that is one citation, or none, says the same whether it is read at once or searched."""

from __future__ import annotations

import itertools
import random

import pytest

from runner.grounding import inline
from runner.grounding.commit_files import PathIndex
from runner.grounding.extract import extract
from runner.grounding.inline import read_below
from runner.grounding.mentions import Reading
from runner.grounding.owners import Above, Seen
from runner.grounding.plain import read_apart, read_plain, read_plain_lines
from tests.grounding import zoo
from tests.grounding.test_extract import INDEX, TREE

ODD = PathIndex((*TREE, "my a.py", "l1/a.py", "lines/line3.py", "www.x.py", "odd.weird", "x/run"))
SHORT = PathIndex(TREE)
"""Of a document that has a short name for a file."""
BEFORE = (
    "",
    "- ",
    "* ",
    "  - ",
    "   ",
    "# ",
    "### ",
    "+ ",
    "1. ",
    "2) ",
    "  12. ",
    "> ",
    "\t- ",
    "**",
)
_PLAIN_BEFORE, _PLAIN_AROUND = 7, 6
NAMES = tuple(
    """
    open f12 L12 line line3 lines ln l at same Same async class True Makefile LICENSE _x __init__
    _12 RTAF This or é Shop.open open() foo? a-b
    """.split()
)
AROUND = (
    *(("", ""), ("(", ")"), ("`", "`"), ("(`", "`)"), ("(`", "`)."), ("(", "),")),
    *(("(", ""), ("", ")"), ("[", "]"), ("((", "))"), ("at ", ""), (": ", ";"), ("(", ") x")),
    *(("(", ") (x)"), ("(`", ")"), ("", ":"), ("(", ")\n")),
)
PATHS = tuple(
    """
    src/app.py app.py text.py guide.md a.py tool bin/tool x/run a/b/c.go l1/a.py lines/line3.py
    line3.py ln.py l.py L3.py www.x.py src/www.x.py db.prod.rs Vue.js example.com/x.py
    site-packages/x.py a.b.c.d odd.weird _p/a.py 3/a.py a/33/x.py e.g README.md on.py a/../x.py
    """.split()
)
LINES = (
    "",
    *(f":{lines}" for lines in "3 42 8080 27017 0 60-42 1476-80 3:4 3,4 3-4-5 3ff".split()),
)
CLOSING = ("", ")", "`", "`)", "`).", "),", ".", ";", ") x", " (x)", "):", "\n")
WORDS = tuple(
    "run_it runIt x open line line3 L3 Same same file LICENSE and in to ff ms times".split()
)
PIECES = tuple(
    "the |same |file |`|(|)|[|](|x|.|/ |\\|:|@|L|Make|BUILD|line |- |—|run()|ab".split("|")
)


def _line(seed: random.Random) -> str:
    """Mostly of the plain form, but for its parts."""
    odd = seed.random() < 0.3
    name = seed.choice(("", f"`{seed.choice(NAMES)}` ", f"`{seed.choice(NAMES)}` "))
    before = seed.choice(BEFORE if odd else BEFORE[:_PLAIN_BEFORE])
    opening, closing = seed.choice(AROUND if odd else AROUND[:_PLAIN_AROUND])
    word = f" {seed.choice(WORDS)}" if seed.random() < 0.2 else ""
    return f"{before}{name}{opening}{seed.choice(PATHS)}{seed.choice(LINES)}{closing}{word}"


def _apart(seed: random.Random) -> str:
    """Mostly lines that stand apart from their path."""
    odd = seed.random() < 0.3
    before = seed.choice(BEFORE if odd else BEFORE[:_PLAIN_BEFORE])
    path = seed.choice(("", f"{seed.choice(PATHS)} ", f"{seed.choice(PATHS)} and "))
    name = seed.choice(("", f"`{seed.choice(NAMES)}` ", f"`{seed.choice(NAMES)}` "))
    opening, closing = seed.choice((("", ""), ("", "."), ("(", ")"), ("(", ")."), ("(", "")))
    mark = seed.choice(("line ", "lines ", ":", ":", "Line ", "L") if odd else ("line ", ":"))
    lines = seed.choice("3 42 43 300 8080 60-42 1476-80 0 3,4 3ff 500".split())
    word = f" {seed.choice(WORDS)}" if seed.random() < 0.4 else ""
    return f"{before}{path}{name}{opening}{mark}{lines}{closing}{word}"


def _below(index: PathIndex, text: str) -> Above:
    """What stands above a chunk: which of all that may, is drawn by the chunk."""
    seed = random.Random(text)
    seen = Seen(index)
    for path in seed.sample(("old.py", "src/app.py", "src/text.py", "gone.py"), seed.randint(0, 3)):
        seen.name(path)
        seen.note(path, [(seed.randint(1, 400),) * 2])
    if seed.random() < 0.2:
        seen.default = "src/text.py"
    if index is SHORT:
        seen.aliases["RTAF"] = "src/app.py"
    file = seed.choice((None, "old.py", "src/app.py"))
    return Above(file, sure=seed.random() < 0.5, seen=seen, main=seed.random() < 0.5)


def _read(text: str, index: PathIndex) -> tuple[Reading, dict[str, object]]:
    """The reading, and all that the document remembers of it."""
    above = _below(index, text)
    reading = read_below(text, index, above)
    state = vars(above.seen)
    return reading, {**state, "_answered": [answer for _, answer in state["_answered"]]}


def _searched(text: str, index: PathIndex) -> tuple[Reading, dict[str, object]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inline, "reads_at_once", lambda *_, **__: None)
        return _read(text, index)


def test_lines_of_every_form_say_the_same_either_way() -> None:
    seed = random.Random(0)
    texts = {_line(seed) for _ in range(6_000)}
    plain = 0
    for text, index in itertools.product(sorted(texts), (INDEX, ODD, SHORT)):
        assert _read(text, index) == _searched(text, index), text
        plain += read_plain(text, index) is not None
    assert plain > 300


def test_lines_apart_from_their_path_say_the_same_either_way() -> None:
    seed = random.Random(3)
    texts = {_apart(seed) for _ in range(3_000)}
    plain = 0
    for text, index in itertools.product(sorted(texts), (INDEX, ODD, SHORT)):
        assert _read(text, index) == _searched(text, index), text
        plain += read_apart(text, index, _below(index, text)) is not None
    assert plain > 250


def _words(seed: random.Random) -> str:
    """Of a link: mostly a name and its lines."""
    name = seed.choice(("", f"`{seed.choice(NAMES)}` ", f"`{seed.choice(NAMES)}` "))
    opening, closing = seed.choice((("", ""), ("(", ")"), ("(", ")"), ("(", ""), ("[", "]")))
    lines = seed.choice(("3", "42", "8080", "60-42", "1476-80", "0", "3, 4", "3:4", "3ff"))
    word = seed.choice(("line", "lines", "line", "Line", "at line"))
    return f"{name}{opening}{word} {lines}{closing}{seed.choice(('', '', '', ' x', '.'))}"


@pytest.mark.parametrize("before", ["", "See src/app.py:300. ", "src/text.py:40, "])
def test_the_words_of_a_link_say_the_same_either_way(before: str) -> None:
    seed = random.Random(2)
    plain = 0
    for words in sorted({_words(seed) for _ in range(1_500)}):
        text = f"{before}[{words}](src/app.py) and [x](src/text.py), 43"
        for index in (INDEX, ODD, SHORT):
            at_once = _read(text, index)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(inline, "read_plain_lines", lambda _: None)
                assert at_once == _read(text, index), text
        plain += read_plain_lines(words) is not None
    assert plain > 50


def test_chunks_that_cannot_cite_say_nothing_either_way() -> None:
    seed = random.Random(1)
    texts = {"".join(seed.choices(PIECES, k=seed.randint(1, 12))) for _ in range(4_000)}
    for text in sorted(texts):
        assert _read(text, INDEX) == _searched(text, INDEX), text


@pytest.mark.parametrize("name", zoo.ANSWERS)
def test_whole_answers_say_the_same_either_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = zoo.ANSWERS[name](4_000)
    index = PathIndex(zoo.TREE.paths())
    at_once = extract(text, index)
    monkeypatch.setattr(inline, "reads_at_once", lambda *_, **__: None)
    monkeypatch.setattr(inline, "read_plain_lines", lambda _: None)
    assert at_once == extract(text, index)


@pytest.mark.parametrize(
    "text",
    [
        "- `open` (lines/line3.py:3)",  # begins as "lines 3" does
        "- `line3` (src/app.py:3)",
        "(www.x.py:3)",
        "db.prod.rs:27017",
        "docs/my guide.md:3",
        "1. `open` (src/app.py:3)",
        "- `open` (src/app.py:3) and 9",
        "- `open` (src/app.py:3",
        "- `Makefile` (src/app.py:3)",
    ],
)
def test_what_may_say_more_is_searched(text: str) -> None:
    assert read_plain(text, INDEX) is None
