"""Where a symbol is in a file: every grammar's query, qualifiers, uses, headers, plain text."""

from __future__ import annotations

import json
import sqlite3
import time
import warnings
from pathlib import Path

import pytest

from runner.grounding import grammars, outlines
from runner.grounding.cache import Cache
from runner.grounding.grammars import grammar, language_of
from runner.grounding.language import LANGUAGES
from runner.grounding.outlines import Outline, TextOnly, outline_of
from runner.grounding.symbols import SourceFile
from tests.grounding.samples import SAMPLES


def outline(path: str, text: str) -> Outline:
    found = outline_of(path, text.encode(), "0" * 40, None)
    assert isinstance(found, Outline)
    return found


def opened(path: str, text: str) -> SourceFile:
    source = text.encode()
    return SourceFile(path, source, lambda: outline_of(path, source, "0" * 40, None))


@pytest.mark.parametrize("language", SAMPLES)
def test_every_query_compiles_and_finds_what_the_file_defines(language: str) -> None:
    path, text, expected = SAMPLES[language]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = grammar(language)
    assert language_of(path, text.encode()) == language
    if loaded is None and not LANGUAGES[language].package:
        pytest.skip("tree-sitter-languages has no wheel for this interpreter")
    assert loaded is not None
    found = outline(path, text)
    named = {".".join((*d.owners[-1:], d.name)) + f":{d.line}" for d in found.definitions}
    assert named == set(expected.split())
    assert found.broken == ()


def test_a_use_is_code_and_never_a_comment_or_a_string() -> None:
    text = 'def f():\n    """g"""\n    # g\n    "g"\n    return g(f"{g} g")\n'
    assert opened("m.py", text).places("g").uses == (5,)
    assert opened("m.py", text).places("g").words == (2, 3, 4, 5)
    assert opened("m.ts", "const a = `g`;\nconst b = `${g}`;\n// g\n").places("g").uses == (2,)


def test_a_header_reaches_over_decorators_attributes_and_doc_comments() -> None:
    [definition] = outline(
        "m.py", "x()\n\n# about f\n# and more\n@a\n@b(\n  1\n)\ndef f(): ...\n"
    ).definitions
    assert (definition.header, definition.start, definition.line) == (3, 5, 9)
    [definition] = outline("m.rs", "use a;\n\n/// About f.\n#[inline]\npub fn f() {}\n").definitions
    assert (definition.header, definition.line) == (3, 5)
    [_, definition] = outline("m.go", "package m\nvar x = 1 // trailing\nfunc f() {}\n").definitions
    assert definition.header == 3


TWO = """class A:
    def go(self): ...


class B:
    def go(self): ...


class C(A):
    pass
"""


def test_a_qualifier_filters_definitions() -> None:
    file = opened("m.py", TWO)
    assert [d.line for d in file.places("go").definitions] == [2, 6]
    assert [d.line for d in file.places("B.go").definitions] == [6]
    assert file.places("B.go").uses == ()


def test_a_subclass_may_name_what_it_inherits() -> None:
    assert [d.line for d in opened("m.py", TWO).places("C.go").definitions] == [2]


def test_an_instance_or_module_filters_nothing_and_an_invented_type_everything() -> None:
    file = opened("m.py", TWO)
    assert len(file.places("thing.go").definitions) == 2
    assert len(file.places("self.go").definitions) == 2
    assert file.places("Invented.go").definitions == ()


@pytest.mark.parametrize(
    ("path", "text", "symbol"),
    [
        (
            "m.go",
            "package m\ntype A struct{}\ntype B struct{}\n"
            "func (a *A) Go() {}\nfunc (b *B) Go() {}\n",
            "B.Go",
        ),
        ("m.rs", "struct A;\nstruct B;\nimpl A {\n fn go() {} }\nimpl B { fn go() {} }\n", "B::go"),
        ("m.cpp", "void A::go() {}\nint x;\nint y;\nint z;\nvoid B::go() {}\n", "B::go"),
        ("m.rb", "class A\n  def go; end\nend\nclass B\n  def go; end\nend\n", "B#go"),
        ("M.java", "class A { void go() {} }\n\n\n\nclass B { void go() {} }\n", "B.go"),
        ("m.ts", "class A { go() {} }\n\n\n\nclass B { go() {} }\n", "B.go"),
    ],
)
def test_every_languages_own_way_of_qualifying_is_understood(
    path: str, text: str, symbol: str
) -> None:
    assert [d.line for d in opened(path, text).places(symbol).definitions] == [5]


def test_a_header_file_is_c_or_cpp_by_what_it_holds() -> None:
    assert language_of("a.h", b"int f(void);\n") == "c"
    assert language_of("a.h", b"namespace x { class Y; }\n") == "cpp"
    assert language_of("tool", b"#!/usr/bin/env python3\n") == "python"


def test_a_file_without_a_grammar_is_text_and_says_so() -> None:
    found = outline_of("notes.md", b"# hi\n", "0" * 40, None)
    assert isinstance(found, TextOnly)
    assert "no grammar" in found.reason


def test_a_file_of_more_than_two_megabytes_is_text() -> None:
    found = outline_of("big.py", b"x = 1\n" * 400_000, "0" * 40, None)
    assert isinstance(found, TextOnly)
    assert "larger" in found.reason


def test_a_parse_that_takes_too_long_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "PARSE_SEC", -1.0)
    found = outline_of("m.py", b"x = [1, 2]\n" * 100_000, "0" * 40, None)
    assert isinstance(found, TextOnly)
    assert "not parsed within" in found.reason


def test_the_long_tail_falls_back_to_text_where_its_package_is_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grammars, "_from_bundle", lambda language: None)
    grammar.cache_clear()
    found = outline_of("m.lua", b"x = 1\n", "0" * 40, None)
    grammar.cache_clear()
    assert found == TextOnly("the grammar for lua is not installed, searched as text")


def test_an_outline_comes_back_from_the_cache_unchanged_and_a_damaged_one_is_parsed_again(
    tmp_path: Path,
) -> None:
    path, text, _ = SAMPLES["python"]
    with Cache(tmp_path) as cache:
        fresh = outline_of(path, text.encode(), "a" * 40, cache)
    with Cache(tmp_path) as cache:
        assert outline_of(path, b"other", "a" * 40, cache) == fresh
    for damage in (b"", b"{", json.dumps([[["x"]], [], []]).encode(), b"\xff\xfe"):
        database = sqlite3.connect(tmp_path / "grounding.sqlite3")
        with database:
            database.execute("UPDATE kept SET value = ?", (damage,))
        database.close()
        with Cache(tmp_path) as cache:
            assert outline_of(path, text.encode(), "a" * 40, cache) == fresh


def test_a_damaged_cache_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "grounding.sqlite3").write_bytes(b"no database" * 1000)
    for _ in range(2):
        with Cache(tmp_path) as cache:
            cache.put("a", b"1")
    with Cache(tmp_path) as cache:
        assert cache.get("a") == b"1"


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    path, text, _ = SAMPLES["python"]
    with Cache(blocked) as cache:
        assert isinstance(outline_of(path, text.encode(), "a" * 40, cache), Outline)


def test_a_line_count_is_newlines_and_an_unterminated_last_line() -> None:
    assert opened("m.txt", "").line_count == 0
    assert opened("m.txt", "a").line_count == 1
    assert opened("m.txt", "a\n").line_count == 1
    assert opened("m.txt", "a\n\x0cb\r\nc").line_count == 3


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("m.rb", "attr_reader " + ", ".join(f":a{n}" for n in range(5_000))),
        ("m.rb", "a" + ".foo(:b)" * 5_000),
        ("m.swift", "let x = a" + ".foo(b)" * 5_000),
        ("m.sh", "read " + " ".join(f"a{n}" for n in range(5_000))),
        ("m.ex", "defstruct [" + ", ".join(f":a{n}" for n in range(5_000)) + "]"),
        ("m.php", "<?php return [" + ", ".join(f"'a{n}' => 1" for n in range(5_000)) + "];"),
    ],
)
def test_thousands_of_names_or_calls_in_one_expression_take_seconds(path: str, text: str) -> None:
    began = time.monotonic()
    outline(path, text)
    assert time.monotonic() - began < 10
