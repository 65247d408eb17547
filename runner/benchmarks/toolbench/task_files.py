"""The benchmark's files: a path, a folder or a URL -> its tasks, and what is wrong with them.

None is shipped: the published data carries no licence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.benchmarks.toolbench.lenient_json import (
    UnreadableError,
    decoder,
    is_too_deep,
    parse_lenient_json,
    without_lone_halves,
)
from runner.benchmarks.toolbench.tasks import Task, read_task
from runner.support.errors import FairtrialError, Problem

LARGEST_BYTES = 400_000_000
"""Of one file. The published ones take some hundred megabytes together."""
DOWNLOAD_SEC = 60.0
_SUFFIXES = (".json", ".jsonl")
DIFFICULTIES = {
    **dict.fromkeys(("easy", "single"), "single"),
    **dict.fromkeys(("hard", "multi", "medium"), "multi"),
}
"""Seed 001, Difficulty Filtering."""


_FORM = "a file of the benchmark is a JSON array of records, or one record a line"
_TASK_KEYS = frozenset({"query", "function_call_label"})


class _NoTaskError(FairtrialError):
    """A file that is none of the benchmark's."""


@dataclass(frozen=True, kw_only=True)
class Data:
    tasks: tuple[Task, ...]
    problems: tuple[Problem, ...]
    """What could not be read as it stands, file by file."""


def load(sources: Iterable[str]) -> Data:
    """Every task of files, folders and URLs, in order.

    Raises FairtrialError if one cannot be read at all, or holds no record.
    """
    problems: list[Problem] = []
    tasks: list[Task] = []
    for source in sources:
        tasks += _tasks_in(source, problems)
    return Data(tasks=tuple(_with_own_ids(tasks)), problems=tuple(problems))


def _tasks_in(source: str, problems: list[Problem]) -> list[Task]:
    if source.startswith(("http://", "https://")):
        return _tasks_of(_downloaded(source), source, problems)
    path = Path(source)
    if path.is_dir():
        return _tasks_below(path, problems)
    return _tasks_of(_read(path), source, problems)


def _tasks_below(folder: Path, problems: list[Problem]) -> list[Task]:
    """Of every file; one that holds no task, such as a fixture, is told and passed over."""
    files = sorted(file for file in folder.rglob("*") if file.suffix in _SUFFIXES)
    if not files:
        raise FairtrialError("the folder holds no .json file", where=str(folder))
    tasks: list[Task] = []
    for file in files:
        try:
            tasks += _tasks_of(_read(file), str(file), problems, among=True)
        except _NoTaskError as error:
            problems.append(Problem(where=str(file), message=f"{error.what}: passed over"))
    if not tasks:
        raise FairtrialError("no file of the folder holds a record", where=str(folder), hint=_FORM)
    return tasks


def _tasks_of(
    data: bytes, name: str, problems: list[Problem], *, among: bool = False
) -> list[Task]:
    """`among`: the file was not named by itself, and may be none of the benchmark's.

    Raises _NoTaskError.
    """
    told: list[Problem] = []
    entries = list(_entries(_decoded(data, name), name, told))
    if not entries or (among and not any(_TASK_KEYS & raw.keys() for raw, _ in entries)):
        raise _NoTaskError("it holds no record", where=name, hint=_FORM)
    problems += told
    return [read_task(raw, where, problems) for raw, where in entries]


def _with_own_ids(tasks: Iterable[Task]) -> Iterator[Task]:
    """`id#2` for the second task of one id: its response would be taken for the first one's."""
    seen: Counter[str] = Counter()
    for number, task in enumerate(tasks, 1):
        name = task.id or f"record-{number}"
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name}#{seen[name]}"
        yield task if name == task.id else replace(task, id=name)


# --- sources ------------------------------------------------------------------------------------


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return _bounded(file.read(LARGEST_BYTES + 1), str(path))
    except FileNotFoundError as error:
        hint = "give a file or folder of the benchmark's data, or its URL"
        raise FairtrialError("no such file", where=str(path), hint=hint) from error


def _downloaded(url: str) -> bytes:
    # Imported here: only who gives a URL pays for it.
    import requests  # noqa: PLC0415

    try:
        with requests.get(url, timeout=DOWNLOAD_SEC, stream=True) as response:
            response.raise_for_status()
            parts, size = [], 0
            for part in response.iter_content(1_048_576):
                parts.append(part)
                size += len(part)
                if size > LARGEST_BYTES:
                    break
            return _bounded(b"".join(parts), url)
    except requests.RequestException as error:
        what = f"the download failed: {type(error).__name__}"
        hint = "download it yourself, and give the file"
        raise FairtrialError(what, where=url, hint=hint) from error


def _bounded(data: bytes, where: str) -> bytes:
    if len(data) > LARGEST_BYTES:
        raise FairtrialError(f"it is larger than {LARGEST_BYTES // 10**6} MB", where=where)
    return data


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "the published files are UTF-8"
        raise _NoTaskError("it is no text in UTF-8", where=where, hint=hint) from error


# --- records ------------------------------------------------------------------------------------


def _entries(
    text: str, name: str, problems: list[Problem]
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each record, and where it stands."""
    for index, value in enumerate(_values(text, name, problems)):
        where = f"{name} [{index}]"
        if isinstance(value, Mapping):
            yield value, where
        else:
            problems.append(Problem(where=where, message="it is no record"))


def _values(text: str, name: str, problems: list[Problem]) -> list[Any]:
    try:
        value = parse_lenient_json(text)
    except UnreadableError as error:
        return _recovered(text, name, error, problems)
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("data"), list):
        data: list[Any] = value["data"]
        return data
    return [value]


def _recovered(
    text: str, name: str, error: ValueError, problems: list[Problem]
) -> list[Mapping[str, Any]]:
    """The objects of a text that is no JSON as a whole: of JSON lines, or with a comma missing."""
    found = list(_objects(text, name, problems))
    # One object a line is a form of its own, and nothing is wrong with it.
    if not all(line.lstrip()[:1] in ("{", "") for line in text.split("\n")):
        message = f"it is no valid JSON ({error}); {len(found)} records were recovered one by one"
        problems.append(Problem(where=name, message=message))
    return found


def _objects(text: str, name: str, problems: list[Problem]) -> Iterator[Mapping[str, Any]]:
    """Each outermost object that can be read; a damaged one is told and passed over."""
    text = without_lone_halves(text)
    reader = decoder()
    line, counted_to = 1, 0
    at = text.find("{")
    while at >= 0:
        try:
            value, end = reader.raw_decode(text, at)
            _require_shallow(value)
        except (ValueError, RecursionError) as error:
            # Counted from the top each time, a file of damaged records would take quadratic time.
            line += text.count("\n", counted_to, at)
            counted_to = at
            message = f"an object that cannot be read: {error}"
            problems.append(Problem(where=f"{name} line {line}", message=message))
            # From the next line that begins an object: inside this one, its parts would be read as
            # records, and each try would read the rest of the file again.
            end = _next_record(text, at)
        else:
            yield value
        at = text.find("{", end)


def _require_shallow(value: Any) -> None:
    """Raises ValueError."""
    if is_too_deep(value):
        raise ValueError("it is nested too deeply")


def _next_record(text: str, at: int) -> int:
    begin = text.rfind("\n", 0, at) + 1
    following = text.find("\n" + text[begin:at] + "{", at)
    return len(text) if following < 0 else following


# --- which of them ------------------------------------------------------------------------------


def load_chosen(
    sources: Iterable[str],
    *,
    difficulties: Sequence[str] = (),
    categories: Sequence[str] = (),
    limit: int | None = None,
) -> tuple[tuple[Task, ...], list[str]]:
    """The tasks of files, folders and URLs that the filters leave, and what is wrong with the data.

    Raises FairtrialError as `load` and `choose_tasks` do.
    """
    data = load(sources)
    chosen = choose_tasks(data.tasks, difficulties=difficulties, categories=categories, limit=limit)
    return chosen, list(map(str, data.problems))


def choose_tasks(
    tasks: Sequence[Task],
    *,
    difficulties: Sequence[str] = (),
    categories: Sequence[str] = (),
    limit: int | None = None,
) -> tuple[Task, ...]:
    """The tasks that the filters leave, the first `limit` of them.

    Raises FairtrialError for a difficulty or category that is not known, or if none is left: an
    empty run would look like a finished one.
    """
    types = {_call_type(name) for name in difficulties}
    wanted = _known_categories(tasks, categories)
    chosen = [
        task
        for task in tasks
        if (not types or task.call_type in types)
        and (not wanted or task.category.lower() in wanted)
    ]
    if not chosen:
        hint = f"there are {', '.join(counted(tasks))}"
        raise FairtrialError("no task is left by these filters", hint=hint)
    return tuple(chosen[:limit])


def _call_type(difficulty: str) -> str:
    try:
        return DIFFICULTIES[difficulty.strip().lower()]
    except KeyError:
        hint = f"one of {', '.join(DIFFICULTIES)}"
        raise FairtrialError(f"no difficulty {difficulty!r}", hint=hint) from None


def _known_categories(tasks: Sequence[Task], categories: Sequence[str]) -> set[str]:
    known = {task.category.lower(): task.category for task in tasks}
    for name in categories:
        if name.strip().lower() not in known:
            hint = f"the data has {', '.join(sorted(known.values()))}"
            raise FairtrialError(f"no category {name!r}", hint=hint)
    return {name.strip().lower() for name in categories}


def counted(tasks: Iterable[Task]) -> list[str]:
    """`browser, easy: 187`, sorted."""
    counts = Counter((task.category, task.difficulty) for task in tasks)
    return [f"{category}, {level}: {n}" for (category, level), n in sorted(counts.items())]
