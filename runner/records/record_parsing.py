"""Files, YAML and JSON as records; every problem at once, each with its file and key path."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard, get_args

import yaml
from pydantic import BaseModel, ValidationError

from runner.records.record import R
from runner.support.errors import CatalogError, Problem

MAX_DEPTH = 50
"""Levels of nesting in a YAML file."""


# --- text -----------------------------------------------------------------------------------


def read_text(path: Path, *, where: str, limit_bytes: int) -> str:
    """A file's text. Raises CatalogError if it is missing, too large, or not plain UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise _problem(where, f"cannot be read: {error.strerror}") from error
    if len(data) > limit_bytes:
        raise _problem(where, f"larger than {limit_bytes // 1024} KB")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte {error.start} is 0x{data[error.start]:02x}"
        raise _problem(where, message) from error
    # With its mark the first key would be "\ufeffid", which no record knows.
    if text.startswith("\ufeff"):
        raise _problem(where, "begins with a byte-order mark; save it as UTF-8 without one")
    return text


def _problem(where: str, message: str) -> CatalogError:
    return CatalogError([Problem(where=where, message=message)])


# --- YAML -----------------------------------------------------------------------------------

# libyaml's loader is ten times quicker, and not every PyYAML is built with it.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeyLoader(_SafeLoader):  # type: ignore[misc]  # which of the two is known at run time
    """Refuses duplicate keys and merges: two readers could see two documents."""

    def construct_mapping(self, node: yaml.nodes.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in keys:
                line = key_node.start_mark.line + 1
                raise yaml.YAMLError(f"line {line}: key {key!r} is given twice")
            keys.add(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def _refuse_tricks(text: str) -> None:
    """Refuse aliases and deep nesting before anything is built from them."""
    depth = 0
    for event in yaml.parse(text, Loader=_UniqueKeyLoader):
        # A few lines of aliases of aliases (`b: [*a, *a, *a]`) stand for gigabytes.
        if isinstance(event, yaml.events.AliasEvent):
            raise yaml.YAMLError(f"line {_line_of(event)}: aliases (*name) are not allowed")
        if isinstance(event, yaml.events.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.events.CollectionEndEvent):
            depth -= 1
        # Brackets in brackets (`[[[[…`) take the parser minutes.
        if depth > MAX_DEPTH:
            raise yaml.YAMLError(f"line {_line_of(event)}: nested deeper than {MAX_DEPTH} levels")


def _line_of(event: yaml.events.Event) -> int:
    """1-based; 0 if the parser does not say."""
    if event.start_mark is None:
        return 0
    return int(event.start_mark.line) + 1


def parse_yaml(text: str, record: type[R], *, where: str) -> R:
    """YAML text as a record. Raises CatalogError with every problem and its key path."""
    try:
        _refuse_tricks(text)
        data = yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - a SafeLoader, stricter
        as_json = json.dumps(data, allow_nan=False)
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise _problem(where, f"not usable YAML: {error}") from error
    return parse_json(as_json, record, where=where)


# --- JSON -----------------------------------------------------------------------------------


def load_json(text: str) -> Any:
    """JSON text as plain values. Raises ValueError if it is not JSON or gives a key twice."""
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """`{"score": 0.9, "score": 0.3}`: a reader would see one grade and the program the other."""
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError(f"a key is given twice among {[key for key, _ in pairs]}")
    return values


def parse_json(text: str | bytes, record: type[R], *, where: str) -> R:
    """JSON text as a record. Raises CatalogError with every problem and its key path."""
    try:
        return record.model_validate_json(text)
    except ValidationError as error:
        problems = [_as_problem(item, record, where) for item in error.errors()]
        raise CatalogError(problems) from error


def _as_problem(error: Any, record: type[BaseModel], where: str) -> Problem:
    place = f"{where} {_key_path(error['loc'])}".rstrip()
    return Problem(where=place, message=_message(error, record))


def _key_path(loc: tuple[int | str, ...]) -> str:
    """`("steps", 0, "name")` as `steps[0].name`."""
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.lstrip(".")


def _message(error: Any, record: type[BaseModel]) -> str:
    if error["type"] != "extra_forbidden":
        return str(error["msg"])
    key, known = str(error["loc"][-1]), _keys_of(record)
    # `tokens:` beside `budget:` instead of inside it.
    if key in known:
        return f"no such key here; it belongs to {known[key]}"
    closest = difflib.get_close_matches(key, known, n=1)
    if closest:
        return f"no such key; did you mean `{closest[0]}`?"
    return "no such key; check its spelling"


def _keys_of(annotation: Any) -> dict[str, str]:
    """Every key a record and the records inside it know -> the record's name."""
    keys: dict[str, str] = {}
    for part in _parts_of(annotation):
        keys |= _keys_of(part)
    if _is_record(annotation):
        keys |= dict.fromkeys(annotation.model_fields, annotation.__name__)
    return keys


def _parts_of(annotation: Any) -> Iterator[Any]:
    """What an annotation is made of: `list[Step]` of Step, a record of its fields."""
    if not _is_record(annotation):
        yield from get_args(annotation)
        return
    for field in annotation.model_fields.values():
        yield field.annotation
        yield from field.metadata


def _is_record(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
