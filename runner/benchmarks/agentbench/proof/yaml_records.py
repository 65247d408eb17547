"""Records as YAML that people read and edit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

import yaml

from runner.records import Record
from runner.records.record_parsing import parse_yaml, read_text
from runner.support.errors import CatalogError

R = TypeVar("R", bound=Record)


class _RecordDumper(yaml.SafeDumper):
    """Texts of several lines as blocks that people can read; no aliases, which no reader takes."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - yaml calls it so
        return True


def _text(dumper: _RecordDumper, text: str) -> yaml.nodes.ScalarNode:
    style = "|" if "\n" in text else None
    # Other ends of lines are read as \n unless they are escaped: a result would drift by itself.
    if re.search("[\r\x85\u2028\u2029]", text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_RecordDumper.add_representer(str, _text)


def as_yaml(record: Record) -> str:
    """As a file holds it; what is left to its default is left out."""
    data = record.model_dump(mode="json", exclude_defaults=True)
    return yaml.dump(data, Dumper=_RecordDumper, sort_keys=False, allow_unicode=True, width=100)


def read_yaml(file: Path, record: type[R], *, where: str, limit_bytes: int) -> R:
    """Raises CatalogError with every problem."""
    try:
        return parse_yaml(
            read_text(file, where=where, limit_bytes=limit_bytes), record, where=where
        )
    except CatalogError as error:
        hint = "run the same command again after mending them"
        raise CatalogError(list(error.problems), hint=hint) from error


def write_yaml(file: Path, record: Record) -> None:
    """In the place of what the file held; comments at its top stay, others do not."""
    head = []
    if file.exists():
        for line in file.read_text("utf-8").splitlines(keepends=True):
            if not line.startswith("#"):
                break
            head.append(line)
    written = file.with_name(f"{file.name}.new")
    written.write_text("".join(head) + as_yaml(record), encoding="utf-8")
    written.replace(file)
