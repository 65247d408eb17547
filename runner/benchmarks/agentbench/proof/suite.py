"""Queries read from their files: every problem at once, each with its file and key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.benchmarks.agentbench.proof.yaml_records import read_yaml
from runner.benchmarks.agentbench.queries import CATEGORIES, Queries, Query
from runner.catalog.checkout import Checkout
from runner.support.errors import CatalogError, FairtrialError, Problem
from runner.support.text import some_of

FOLDER = "scenarios/agentbench"
"""Of the shipped suite, from the checkout's top."""
README = "README.md"
LIMIT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class LoadedQuery:
    query: Query
    where: str
    """Its file and key: `scenarios/agentbench/x.yaml queries[3]`."""
    file: Path


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Some files of queries, read."""

    queries: tuple[LoadedQuery, ...]
    """In the files' order, those sorted by name."""
    problems: tuple[Problem, ...]
    """Of every file; of one that cannot be read the queries are missing."""
    source: str = FOLDER
    """The folder or file, as it was named."""

    def sound(self) -> tuple[Query, ...]:
        """Every query. Raises CatalogError with every problem."""
        if self.problems:
            hint = f"run `fairtrial agentbench check {self.source}` after mending them"
            raise CatalogError(list(self.problems), hint=hint)
        return tuple(loaded.query for loaded in self.queries)


def load_suite(source: Path, *, testbed: Collection[str], unreviewed: bool = False) -> Suite:
    """A folder of `<category>.yaml`, or one file of any queries.

    `testbed`: every server that a query may need. `unreviewed`: take queries that nobody has read.
    Raises FairtrialError if there is neither, or nothing in it.
    """
    problems: list[Problem] = []
    queries: list[LoadedQuery] = []
    for file in _files(source, problems):
        queries += _read(file, problems)
    problems += _twice(queries)
    for loaded in queries:
        problems += _problems(loaded, testbed, unreviewed, in_folder=source.is_dir())
    return Suite(queries=tuple(queries), problems=tuple(problems), source=where_of(source))


def sound_queries(
    checkout: Checkout, source: Path | None, *, unreviewed: bool = False
) -> tuple[LoadedQuery, ...]:
    """Of a folder or file, or of the suite that ships.

    Raises CatalogError with every problem of the suite.
    """
    known = {*checkout.catalog.testbed, *checkout.catalog.servers}
    suite = load_suite(source or checkout.root / FOLDER, testbed=known, unreviewed=unreviewed)
    suite.sound()
    return suite.queries


def chosen(
    queries: Sequence[LoadedQuery],
    *,
    ids: Collection[str] = (),
    categories: Collection[str] = (),
    servers: Collection[str] = (),
) -> list[LoadedQuery]:
    """Those that are asked for; all, of what nothing is asked about.

    Raises FairtrialError for a category, an id or a server that there is not.
    """
    _require_known(categories, CATEGORIES, "category is called")
    _require_known(ids, {loaded.query.id for loaded in queries}, "query is called")
    known = {server for loaded in queries for server in loaded.query.servers}
    _require_known(servers, known, "query needs a server called")
    return [
        loaded
        for loaded in queries
        if (not ids or loaded.query.id in ids)
        and (not categories or loaded.query.category in categories)
        and (not servers or not set(servers).isdisjoint(loaded.query.servers))
    ]


def _require_known(asked: Collection[str], known: Collection[str], what: str) -> None:
    unknown = sorted(set(asked) - set(known))
    if unknown:
        hint = f"there are: {some_of(sorted(known)) or 'none'}"
        raise FairtrialError(f"no {what} {', '.join(map(repr, unknown))}", hint=hint)


# --- files ----------------------------------------------------------------------------------


def _files(source: Path, problems: list[Problem]) -> list[Path]:
    if source.is_file():
        return [source]
    hint = f"queries lie in {FOLDER}/<category>.yaml, or in a file or folder of your own"
    if not source.is_dir():
        raise FairtrialError("there is neither a file nor a folder", where=str(source), hint=hint)
    files = []
    for path in sorted(source.iterdir()):
        if path.name.startswith((".", "__")) or path.name == README:
            continue
        if path.suffix == ".yaml" and path.stem in CATEGORIES:
            files.append(path)
        else:
            message = f"nothing reads this; files are called {CATEGORIES[0]}.yaml and so on"
            problems.append(Problem(where=where_of(path), message=message))
    if not files and not problems:
        raise FairtrialError("there are no queries here", where=str(source), hint=hint)
    return files


def where_of(path: Path) -> str:
    """From the checkout's top, if the file lies in the shipped suite's place."""
    if path.parent.as_posix().endswith(FOLDER):
        return f"{FOLDER}/{path.name}"
    return str(path)


def read_queries(file: Path) -> Queries:
    """Raises CatalogError with every problem of the file's form."""
    return read_yaml(file, Queries, where=where_of(file), limit_bytes=LIMIT_BYTES)


def _read(file: Path, problems: list[Problem]) -> list[LoadedQuery]:
    try:
        queries = read_queries(file).queries
    except CatalogError as error:
        problems += error.problems
        return []
    where = where_of(file)
    return [
        LoadedQuery(query=query, where=f"{where} queries[{index}]", file=file)
        for index, query in enumerate(queries)
    ]


# --- problems -------------------------------------------------------------------------------


def _twice(queries: Sequence[LoadedQuery]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for loaded in queries:
        earlier = first.setdefault(loaded.query.id, loaded.where)
        if earlier != loaded.where:
            message = f"{loaded.query.id!r} is the id of {earlier} too"
            yield Problem(where=f"{loaded.where}.id", message=message)


def _is_read(query: Query) -> bool:
    """Generated ones say who has read them: dropping `unreviewed` by hand is no reading."""
    generated = query.provenance.startswith("generated by")
    return not query.unreviewed and (not generated or "; " in query.provenance)


def _problems(
    loaded: LoadedQuery, testbed: Collection[str], unreviewed: bool, *, in_folder: bool
) -> Iterator[Problem]:
    query, where = loaded.query, loaded.where
    if in_folder and query.category != loaded.file.stem:
        message = f"is {query.category!r}, but the file is {loaded.file.name}"
        yield Problem(where=f"{where}.category", message=message)
    for server in query.servers:
        if server not in testbed:
            yield Problem(where=f"{where}.servers", message=f"there is no server {server!r}")
    if not (unreviewed or _is_read(query)):
        message = "generated, and read by nobody: `fairtrial agentbench review` takes it further"
        yield Problem(where=f"{where}.unreviewed", message=message)
