"""YAML and JSON text as records; every problem at once, each with its file and key path."""

from __future__ import annotations

import difflib
import json
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from runner.errors import CatalogError, Problem
from runner.records.base import R


class _UniqueKeyLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml's is ten times quicker, and optional
    """YAML's duplicate keys and merges let two readers see two documents: refused."""

    def construct_mapping(self, node: yaml.nodes.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.YAMLError(
                    f"line {key_node.start_mark.line + 1}: key {key!r} is given twice"
                )
            seen.add(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def _refuse_tricks(text: str) -> None:
    """A few lines of aliases of aliases stand for gigabytes; brackets in brackets take the parser minutes."""
    depth = 0
    for event in yaml.parse(text, Loader=_UniqueKeyLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.events.AliasEvent):
            raise yaml.YAMLError(f"line {line}: aliases (*name) are not allowed")
        depth += isinstance(event, yaml.events.CollectionStartEvent) - isinstance(
            event, yaml.events.CollectionEndEvent
        )
        if depth > 50:
            raise yaml.YAMLError(f"line {line}: nested deeper than 50 levels")


def parse_yaml(text: str, record: type[R], *, where: str) -> R:
    """YAML text as a record. Raises CatalogError with every problem, each with file and key path."""
    try:
        _refuse_tricks(text)
        data = yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - a SafeLoader, stricter
        as_json = json.dumps(data, allow_nan=False)
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise CatalogError([Problem(where=where, message=f"not usable YAML: {error}")]) from error
    return parse_json(as_json, record, where=where)


def parse_json(text: str | bytes, record: type[R], *, where: str) -> R:
    """JSON text as a record. Raises CatalogError with every problem, each with file and key path."""
    try:
        return record.model_validate_json(text)
    except ValidationError as error:
        problems = [
            Problem(where=f"{where} {_key_path(e['loc'])}".rstrip(), message=_say(e, record))
            for e in error.errors()
        ]
        raise CatalogError(problems) from error


def _key_path(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def _say(error: Any, record: type[BaseModel]) -> str:
    if error["type"] != "extra_forbidden":
        return str(error["msg"])
    key, known = str(error["loc"][-1]), _keys_of(record)
    if key in known:
        return f"no such key here; it belongs to {known[key]}"
    closest = difflib.get_close_matches(key, known, n=1)
    return (
        f"no such key; did you mean `{closest[0]}`?"
        if closest
        else "no such key; check its spelling"
    )


def _keys_of(annotation: Any) -> dict[str, str]:
    """Every key a record and the records inside it know -> the record's name."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        inner = [
            _keys_of(part)
            for field in annotation.model_fields.values()
            for part in (field.annotation, *field.metadata)
        ]
        return {k: v for keys in inner for k, v in keys.items()} | dict.fromkeys(
            annotation.model_fields, annotation.__name__
        )
    return {k: v for part in get_args(annotation) for k, v in _keys_of(part).items()}
