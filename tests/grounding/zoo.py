"""Hostile and merely large inputs, of any size: answers, and files that are cited.

Each is made by a function of the characters it is to have, more or less.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from runner.grounding.verify import Grounding, ground
from tests.grounding.fakes import MemoryFiles

_CALLS = count()

Make = Callable[[int], str]

_SOURCE = "\n".join(f"def f{n}(x):\n    return g{n}(x) + {n}\n" for n in range(60))
FOLDERS, FILES, LINES = 20, 100, 170
_CONTENTS: dict[str, str | bytes] = {"src/app.py": _SOURCE, "docs/my guide.md": "# x\n" * 50}
for _number in range(FILES):
    _CONTENTS[f"src/pkg{_number % FOLDERS}/mod{_number}.py"] = _SOURCE
TREE = MemoryFiles(_CONTENTS)


def many(unit: Callable[[int], str]) -> Make:
    """As many different units as there is room for."""

    def make(chars: int) -> str:
        parts: list[str] = []
        left = chars
        while left > 0:
            parts.append(unit(len(parts)))
            left -= len(parts[-1])
        return "".join(parts)

    return make


def of(unit: str, before: str = "See src/app.py:3 ", after: str = " `foo`.") -> Make:
    """One unit again and again, below a citation whose file bare lines may have."""
    return lambda chars: before + unit * (chars // len(unit)) + after


def _path(place: int) -> str:
    number = place % FILES
    return f"src/pkg{number % FOLDERS}/mod{number}.py"


def _line(place: int) -> int:
    return place % LINES + 1


def _objects(chars: int) -> str:
    places = range(chars // 70)
    return json.dumps(
        [{"file": _path(n), "line": _line(n), "symbol": f"f{n % 60}"} for n in places]
    )


def _table(chars: int) -> str:
    rows = many(lambda n: f"| {_path(n)} | {_line(n)} | `f{n % 60}` |\n")
    return "| file | line | symbol |\n|---|---|---|\n" + rows(chars)


def _wide_table(chars: int) -> str:
    cells = chars // 20
    return "| src/app.py " * cells + "|\n" + "|---" * cells + "|\n" + "| 1 " * cells + "|"


ANSWERS: dict[str, Make] = {
    "dense": many(lambda n: f"- `f{n % 60}` ({_path(n)}:{_line(n)})\n"),
    "one line": many(lambda n: f"`f{n % 60}` ({_path(n)}:{_line(n)}), "),
    "shortened": many(lambda n: f"`f{n % 60}` (mod{n % FILES}.py:{_line(n)}), "),
    "prose": many(
        lambda n: f"The request is prepared in src/app.py:{_line(n)} before it is sent. "
    ),
    "paths": of("src/app.py "),
    "invented paths": many(lambda n: f"lib/x{n}.py "),
    "lines": many(lambda n: f"- `f{n % 60}` line {_line(n)}\n"),
    "bare lines": of(":12 "),
    "invented words": many(lambda n: f"src/pkg1/mod1.py `zork{n}` line {_line(n)}.\n\n"),
    "lines past the end": many(lambda n: f"src/pkg1/mod1.py and line {n + 999}.\n\n"),
    "a list of lines": lambda chars: json.dumps({"src/app.py": [*range(chars // 6)]}),
    "objects": _objects,
    "deep JSON": lambda chars: '{"a": ' * (chars // 8) + '"src/app.py:3"' + "}" * (chars // 8),
    "keys": lambda chars: json.dumps({f"src/app.py:{n}": n for n in range(chars // 20)}),
    "one long key": lambda chars: json.dumps({"a_" * (chars // 2) + "(": "src/app.py:3"}),
    "a table": _table,
    "a wide table": _wide_table,
    "rules": of("a | b\n|---|\n"),
    "nested items": many(lambda n: "  " * (n % 99) + f"- `f{n % 60}` :{_line(n)}\n"),
    "fences": many(lambda n: f"```\n{_path(n)}:{_line(n)} f{n % 60}\n```\n"),
    "links": many(lambda n: f"[`f{n % 60}` (line {_line(n)})](src/app.py) "),
    "escapes": of("src\\_app.py:3 "),
    "unicode": of("src/日本.py:3 「日本」 "),
    "code spans": many(lambda n: f"`f{n % 60}` ({_line(n) + 9}), "),
    "numbers in spans": of("`12`, ", before="`src/app.py:3`, "),
    "ranges": many(lambda n: f"src/app.py:{_line(n)}-{_line(n) + 3}, {_line(n + 9)} "),
    "lists of citations": many(lambda n: f"{_path(n)}:{_line(n)}, "),
    "headings": many(lambda n: f"# {_path(n)}\n:{_line(n)} f{n % 60}\n"),
    "dotted paths": lambda chars: "./" * (chars // 2) + "src/app.py:3",
    "blanks in paths": of("docs/my guide.md:3 "),
    "columns": many(lambda n: f"f{n % 60}(){' ' * 60}// src/app.py:{_line(n)}\n"),
    "backticks": of("`"),
    "brackets": of("[(", after="src/app.py:3"),
    "parentheses": of("("),
    "colons": of(":"),
    "line 1 of": of("line 1 of "),
}


class Hostile(NamedTuple):
    """A file that is cited."""

    path: str
    make: Make


def _nested(opening: str, closing: str) -> Make:
    each = len(opening) + len(closing)
    return lambda chars: opening * (chars // each) + closing * (chars // each)


SOURCES: dict[str, Hostile] = {
    "a lockfile": Hostile("app.lock", many(lambda n: f"  /foo@{n}.0.0:\n    resolution: foo\n")),
    "one line": Hostile("app.txt", of("foo ")),
    "one name": Hostile("app.py", many(lambda n: f"def foo(): return foo  # {n}\n")),
    "many names": Hostile("app.py", many(lambda n: f"class C{n}:\n    def f{n}(self): foo()\n")),
    "generated Rust": Hostile(
        "app.rs", many(lambda n: f"impl C{n} {{ fn f{n}() {{ foo(); }} }}\n")
    ),
    "minified": Hostile("app.js", many(lambda n: f"function f{n}(a){{/* foo */return foo(a)}}")),
    "nested functions": Hostile("app.js", _nested("function foo(){", "}")),
    "nested calls": Hostile("app.js", _nested("foo(", ")")),
    "open brackets": Hostile("app.js", of("[")),
    "open blocks": Hostile("app.js", of("if(foo){")),
    "one string": Hostile("app.py", lambda chars: '"""' + "foo\n" * (chars // 4) + '"""\nfoo()'),
    "one comment": Hostile("app.c", lambda chars: "/*" + "foo\n" * (chars // 4) + "*/ int foo;"),
    "comments": Hostile("app.py", of("# foo\n", before="", after="foo()")),
    "decorators": Hostile("app.py", of("@foo\n", before="", after="def foo(): pass")),
    "macros": Hostile("app.c", many(lambda n: f"FOO(a{n}) {{ foo(); }}\n")),
    "conditions": Hostile("app.c", of("#if foo\n")),
    "newlines": Hostile("app.py", of("\n")),
    "zeros": Hostile("app.js", of("\0")),
}
_NAMES = ("foo", "bar", "C7.foo", "zork{}", "f{}", "C{}.f{}", "Zork{}.foo")


def ground_source(hostile: Hostile, chars: int, citations: int) -> Grounding:
    """What citing many names all over the file gives."""
    # What is known of a file is kept: as many lines at its end as no file before had.
    source = hostile.make(chars) + "\n" * next(_CALLS)
    lines = source.count("\n") + 1
    texts = []
    for place in range(citations):
        name = _NAMES[place % len(_NAMES)].replace("{}", str(place))
        texts.append(f"- `{name}` ({hostile.path}:{place * lines // citations + 1})")
    return ground("\n".join(texts), MemoryFiles({hostile.path: source}))
