"""What `fairtrial ground` does with one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.grounding.verify import Grounding, ground
from runner.protocols import Files
from runner.records import Record
from runner.runs.importing.texts import read_answer_file

_SUMMARY_KEYS = (
    "total",
    "grounded",
    "unresolved",
    "hallucinated",
    "weighted_rate",
    "strict_rate",
    "headline_rate",
    "chance_rate",
    "named_rate",
    "weak",
    "shifted",
)
_CITATION_KEYS = (
    "written",
    "path",
    "start",
    "end",
    "symbol",
    "resolution",
    "status",
    "reason",
    "held_by",
    "definition_lines",
    "distance",
    "weight",
    "weak",
)


def ground_file(
    path: Path,
    files: Files,
    roots: Sequence[str] = (),
    cache_dir: Path | None = None,
    repo_urls: Sequence[str] = (),
) -> tuple[dict[str, Any], Grounding]:
    """The JSON object that `--json` prints for a text or transcript, and its grounding.

    Raises FairtrialError if the file cannot be read.
    """
    read = read_answer_file(path)
    # A transcript names the folder its agent worked in; the user may name others.
    all_roots = (*roots, *read.roots)
    grounding = ground(read.texts, files, roots=all_roots, cache_dir=cache_dir, repo_urls=repo_urls)
    return as_json(str(path), files.commit, grounding), grounding


def as_json(file: str, commit: str, grounding: Grounding) -> dict[str, Any]:
    """Exactly the keys that are promised; the other parts of the records stay in them."""
    keys = list(_SUMMARY_KEYS)
    if grounding.summary.cut_at is not None:
        keys.append("cut_at")
    return {
        "file": file,
        "commit": commit,
        "summary": _some_fields(grounding.summary, keys),
        "citations": [_some_fields(c, _CITATION_KEYS) for c in grounding.citations],
    }


def _some_fields(record: Record, keys: Sequence[str]) -> dict[str, Any]:
    fields = record.model_dump(mode="json")
    return {key: fields[key] for key in keys}
