"""What a changed input schema does to the calls that were right until now.

A call that fits the base's schema and not the head's is broken; one that the head takes besides
harms nobody. Only what models and their APIs read of JSON Schema is compared: types, enums,
required names, defaults, bounds, and what lies in properties, items and alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from runner.records import canonical_json

DEEPEST = 16
"""A schema may refer to itself."""
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_ALL = frozenset(("string", "number", "boolean", "object", "array", "null"))
_SHOWN = 60
Schema = Mapping[str, Any]
Kind = Literal["breaking", "harmless", "default", "words"]
"""`default`: another value is taken where a call says none. `words`: descriptions alone."""


@dataclass(frozen=True, kw_only=True)
class SchemaChange:
    kind: Kind
    key: str
    """Of the parameter: `options.limit`; empty of the whole."""
    what: str
    """`removed`, `required`, `type`, `enum`, …: part of a stable name."""
    says: str
    base: str = ""
    head: str = ""


@dataclass(frozen=True, kw_only=True)
class _SchemaPair:
    """The same place in both schemas."""

    base: Schema
    head: Schema
    roots: tuple[Schema, Schema]
    """In which `#/$defs/…` are looked up."""
    key: str = ""
    depth: int = 0

    def inside(self, key: str, base: object, head: object) -> _SchemaPair:
        return _SchemaPair(
            base=_resolved(base, self.roots[0]),
            head=_resolved(head, self.roots[1]),
            roots=self.roots,
            key=f"{self.key}.{key}".strip(".") if key else self.key,
            depth=self.depth + 1,
        )

    def change(self, kind: Kind, what: str, says: str, **both: Any) -> SchemaChange:
        shown = {side: _shown(value) for side, value in both.items()}
        return SchemaChange(kind=kind, key=self.key, what=what, says=says, **shown)


def schema_changes(base: Schema, head: Schema) -> Iterator[SchemaChange]:
    """Every one of them, the outer first."""
    roots = (base, head)
    yield from _changes(
        _SchemaPair(base=_resolved(base, base), head=_resolved(head, head), roots=roots)
    )


def _changes(pair: _SchemaPair) -> Iterator[SchemaChange]:
    if pair.depth > DEEPEST or pair.base == pair.head:
        return
    yield from _of_types(pair)
    yield from _of_enums(pair)
    yield from _of_bounds(pair)
    yield from _of_default(pair)
    yield from _of_properties(pair)
    if "items" in pair.base and "items" in pair.head:
        yield from _changes(pair.inside("[]", pair.base["items"], pair.head["items"]))
    if pair.base.get("description") != pair.head.get("description"):
        yield pair.change("words", "description", "is described otherwise")


# --- what a value may be ------------------------------------------------------------------------


def _of_types(pair: _SchemaPair) -> Iterator[SchemaChange]:
    before, after = _types(pair.base, pair.roots[0]), _types(pair.head, pair.roots[1])
    if before == after:
        return
    both = {"base": _named(before), "head": _named(after)}
    # What takes numbers takes whole ones.
    takes = after | {"integer"} if "number" in after else after
    if lost := before - takes:
        says = f"takes no {' or '.join(sorted(lost))} any more"
        yield pair.change("breaking", "type", says, **both)
    else:
        yield pair.change("harmless", "type", "takes more types", **both)


def _types(schema: Schema, root: Schema, depth: int = 0) -> frozenset[str]:
    """That a value may be of; all of them where nothing is said."""
    said = schema.get("type")
    if isinstance(said, str):
        return frozenset((said,))
    if isinstance(said, list):
        return frozenset(map(str, said))
    alternatives = _alternatives(schema, root) if depth < DEEPEST else []
    if alternatives:
        return frozenset().union(*(_types(one, root, depth + 1) for one in alternatives))
    values = _values(schema, root)
    return _ALL if values is None else frozenset(map(_type_of, values))


def _type_of(written: str) -> str:
    """Of a value in canonical JSON."""
    if written in ("true", "false"):
        return "boolean"
    known = {'"': "string", "{": "object", "[": "array", "n": "null"}
    return known.get(written[:1], "number" if "." in written else "integer")


def _alternatives(schema: Schema, root: Schema) -> list[Schema]:
    found = [*_listed(schema.get("anyOf")), *_listed(schema.get("oneOf"))]
    return [_resolved(one, root) for one in found]


def _of_enums(pair: _SchemaPair) -> Iterator[SchemaChange]:
    before, after = _values(pair.base, pair.roots[0]), _values(pair.head, pair.roots[1])
    if before == after or after is None:
        if before is not None and after is None:
            yield pair.change("harmless", "enum", "takes any value", base=sorted(before))
        return
    both = {"base": sorted(before or ()), "head": sorted(after)}
    if before is None:
        yield pair.change("breaking", "enum", "takes only listed values", **both)
    elif lost := before - after:
        says = f"takes no {', '.join(sorted(lost))} any more"
        yield pair.change("breaking", "enum", says, **both)
    else:
        yield pair.change("harmless", "enum", "takes more values", **both)


def _values(schema: Schema, root: Schema, depth: int = 0) -> frozenset[str] | None:
    """That are listed, as canonical JSON; None where any will do."""
    if "const" in schema:
        return frozenset((canonical_json(schema["const"]),))
    if isinstance(schema.get("enum"), list):
        return frozenset(map(canonical_json, schema["enum"]))
    found: frozenset[str] = frozenset()
    alternatives = _alternatives(schema, root) if depth < DEEPEST else []
    for one in alternatives:
        inner = frozenset(("null",)) if one.get("type") == "null" else _values(one, root, depth + 1)
        if inner is None:
            return None
        found |= inner
    return found if alternatives else None


def _of_bounds(pair: _SchemaPair) -> Iterator[SchemaChange]:
    for name in (*_LOWER, *_UPPER):
        before, after = pair.base.get(name), pair.head.get(name)
        if before == after or isinstance(before, bool) or isinstance(after, bool):
            continue
        if not all(isinstance(one, int | float | None) for one in (before, after)):
            continue
        sign = 1 if name in _LOWER else -1
        is_narrower = after is not None and (before is None or sign * after > sign * before)
        kind: Kind = "breaking" if is_narrower else "harmless"
        yield pair.change(kind, name, f"has another {name}", base=before, head=after)
    before, after = pair.base.get("pattern"), pair.head.get("pattern")
    if before != after:
        kind = "breaking" if after else "harmless"
        yield pair.change(kind, "pattern", "has another pattern", base=before, head=after)


def _of_default(pair: _SchemaPair) -> Iterator[SchemaChange]:
    before, after = pair.base.get("default"), pair.head.get("default")
    if before == after:
        return
    # One that is only written down now, or no longer, may have been taken all the time.
    kind: Kind = "default" if None not in (before, after) else "words"
    yield pair.change(kind, "default", "has another default", base=before, head=after)


# --- parameters ---------------------------------------------------------------------------------


def _of_properties(pair: _SchemaPair) -> Iterator[SchemaChange]:
    before, after = _properties(pair.base), _properties(pair.head)
    needed, needs = _required(pair.base), _required(pair.head)
    for name, schema in before.items():
        inner = pair.inside(name, schema, after.get(name, {}))
        if name not in after:
            yield inner.change("breaking", "removed", "is gone")
            continue
        if name in needs and name not in needed:
            yield inner.change("breaking", "required", "is required now")
        if name in needed and name not in needs:
            yield inner.change("harmless", "required", "may be left out now")
        yield from _changes(inner)
    for name in after.keys() - before.keys():
        inner = pair.inside(name, {}, after[name])
        if name in needs:
            yield inner.change("breaking", "required", "is new, and required")
        else:
            yield inner.change("harmless", "added", "is new, and may be left out")


def _properties(schema: Schema) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _required(schema: Schema) -> frozenset[str]:
    return frozenset(map(str, _listed(schema.get("required"))))


# --- reading ------------------------------------------------------------------------------------


def _resolved(schema: object, root: Schema) -> Schema:
    """What a reference in the same schema leads to; what is no object takes anything."""
    for _ in range(DEEPEST):
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        schema = _at(root, reference.removeprefix("#/").split("/"))
    return {}


def _at(root: object, steps: Sequence[str]) -> object:
    for step in steps:
        root = root.get(step) if isinstance(root, dict) else None
    return root


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _named(types: frozenset[str]) -> str:
    return "any" if types == _ALL else " | ".join(sorted(types))


def _shown(value: object) -> str:
    """As a person reads it, in one line."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else canonical_json(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
