"""Do arguments fit the schema of their tool? (JSON Schema, as the record has it)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from referencing import Registry

from runner.benchmarks.toolbench.calls import ExtractedCall
from runner.benchmarks.toolbench.task_scores import bare_name
from runner.benchmarks.toolbench.tasks import Task
from runner.records import canonical_json

MOST_PROBLEMS = 20
"""Told of one set of arguments."""


class Schemas:
    """Validators, each made once: the published files repeat a tool's schema in every record."""

    def __init__(self) -> None:
        self._by_text: dict[str, jsonschema.Validator | None] = {}
        self._by_id: dict[int, tuple[Mapping[str, Any], jsonschema.Validator | None]] = {}

    def problems(self, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
        """What of the arguments does not fit, in words; nothing if there is no usable schema."""
        validator = self._validator(schema)
        if validator is None:
            return []
        found = []
        try:
            for error in validator.iter_errors(arguments):
                found.append(_told(error))
                if len(found) == MOST_PROBLEMS:
                    break
        # A schema's `$ref` and patterns are anybody's text, and may end in any error at all.
        except Exception as error:
            return [f"it cannot be checked: {type(error).__name__}"]
        return found

    def is_usable(self, schema: Mapping[str, Any]) -> bool:
        return self._validator(schema) is not None

    def fits(self, task: Task, call: ExtractedCall) -> bool | None:
        """None if the task offers no such tool, or no schema for it."""
        name = bare_name(call.name, task)
        for tool in task.tools:
            if tool.name == name and tool.input_schema and self.is_usable(tool.input_schema):
                return not self.problems(tool.input_schema, call.arguments)
        return None

    def _validator(self, schema: Mapping[str, Any]) -> jsonschema.Validator | None:
        known = self._by_id.get(id(schema))
        # The schema is kept beside: another object could get the place of one that is gone.
        if known is None or known[0] is not schema:
            known = schema, self._made(schema)
            self._by_id[id(schema)] = known
        return known[1]

    def _made(self, schema: Mapping[str, Any]) -> jsonschema.Validator | None:
        try:
            text = canonical_json(schema)
        except (ValueError, RecursionError):
            return None
        if text not in self._by_text:
            self._by_text[text] = _validator_of(schema)
        return self._by_text[text]


def _validator_of(schema: Mapping[str, Any]) -> jsonschema.Validator | None:
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except (SchemaError, RecursionError):
        return None
    # A registry of its own, which fetches nothing: a schema's `$ref` must not reach the network.
    validator: jsonschema.Validator = kind(schema, registry=Registry())
    return validator


def _told(error: jsonschema.ValidationError) -> str:
    path = ".".join(map(str, error.absolute_path)) or "arguments"
    message = error.message
    return f"{path}: {message if len(message) <= 160 else message[:157] + '...'}"
