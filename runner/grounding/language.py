"""The languages whose definitions we find: one folder of `languages/` each, and nothing elsewhere.

| file | holds |
|---|---|
| language.toml | a Language |
| tags.scm | the query that finds its definitions; its captures are in outlines.py |
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path

from runner.records import Record, parse_json

FOLDER = Path(__file__).with_name("languages")


class Replacement(Record):
    """What a grammar stumbles over."""

    pattern: str
    """Of Python's `re`, over several lines and verbose."""
    filler: str = " "
    """Put in place of each byte."""


class Language(Record):
    """A language.toml."""

    package: str = ""
    """The grammar's own; without one, it is in the shared library of tree-sitter-languages."""
    function: str = "language"
    """Of the package: it gives the grammar."""
    like: str = ""
    """The language whose query and mends are used where this one has none."""
    extensions: tuple[str, ...]
    """Lower case, no dot. In a text, a word that ends in one of them is a path."""
    rare_extensions: tuple[str, ...] = ()
    """In a text, one of these makes a path only if the tree has a file with it."""
    names: tuple[str, ...] = ()
    """Of files that have no extension."""
    interpreters: tuple[str, ...] = ()
    """Of a script's first line, without a version."""
    marked_names: bool = False
    """The mark at the end belongs to the name: `save!`; not so a Rust macro's."""
    anonymous_types_in: tuple[str, ...] = ()
    """Extensions of files where a function may make a type without a name."""
    embeds_in_body: bool = False
    """A type names in its body, not in its head, the types whose members it has."""
    closed_types: bool = False
    """A type has the methods that stand in it and in what its head names, and no others."""
    gives_apart: bool = False
    """A type is given the types whose members it has apart from its head: `impl Read for Shop`."""
    macro: str = ""
    """What stands before the name of a macro: what it defines is of the types it is called with."""
    prelude: str = ""
    """Put before a source."""
    macros: tuple[Replacement, ...] = ()
    """Put right in every source: it parses, and means something else."""
    mends: tuple[Replacement, ...] = ()
    """Tried on a source that does not parse; kept if less of it is an error then."""

    @property
    def all_extensions(self) -> tuple[str, ...]:
        return self.extensions + self.rare_extensions


def _read(path: Path) -> Language:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return parse_json(json.dumps(data), Language, where=str(path))


def read_languages(folder: Path) -> dict[str, Language]:
    """By name. Raises ValueError if two languages claim one extension."""
    languages: dict[str, Language] = {}
    owners: dict[str, str] = {}
    for path in sorted(folder.glob("*/language.toml")):
        name = path.parent.name
        languages[name] = _read(path)
        for extension in languages[name].all_extensions:
            # A folder that is new closes no gate: it must not read another language's files.
            if owners.setdefault(extension, name) != name:
                raise ValueError(f"{path}: `.{extension}` is {owners[extension]}'s")
    return languages


LANGUAGES: Mapping[str, Language] = read_languages(FOLDER)
"""By name."""


def dotted(extensions: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """`.py` of `py`, of several languages together: as `str.endswith` takes them."""
    return tuple(f".{extension}" for extension in chain.from_iterable(extensions))


def endings(of: Callable[[Language], object]) -> tuple[str, ...]:
    """Of the files of all languages of which this is so."""
    return dotted(one.all_extensions for one in LANGUAGES.values() if of(one))


GIVING_APART = endings(lambda one: one.gives_apart)
"""What ends the names of files whose types are given members apart from their heads."""
