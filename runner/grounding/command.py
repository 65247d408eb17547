"""What `fairtrial ground` does with one file, as a pure function: cli.py reads the options and prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.grounding.verify import Grounding, ground
from runner.importers.claude_code import read_text
from runner.protocols import Files

_SUMMARY_KEYS = (
    "total",
    "grounded",
    "unresolved",
    "hallucinated",
    "strict_rate",
    "headline_rate",
    "chance_rate",
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
)


def ground_file(
    path: Path,
    files: Files,
    roots: Sequence[str] = (),
    cache_dir: Path | None = None,
    repo_urls: Sequence[str] = (),
) -> tuple[dict[str, Any], Grounding]:
    """The JSON object that `--json` prints for a text or transcript, and the grounding it says.

    Raises FairtrialError where the file cannot be read.
    """
    read = read_text(path)
    grounding = ground(
        read.texts, files, roots=(*roots, *read.roots), cache_dir=cache_dir, repo_urls=repo_urls
    )
    return as_json(str(path), files.commit, grounding), grounding


def as_json(file: str, commit: str, grounding: Grounding) -> dict[str, Any]:
    """Exactly the keys that are promised; the other parts of the record stay in it."""
    summary, citations = (
        grounding.summary.model_dump(mode="json"),
        [c.model_dump(mode="json") for c in grounding.citations],
    )
    return {
        "file": file,
        "commit": commit,
        "summary": {key: summary[key] for key in _SUMMARY_KEYS},
        "citations": [{key: citation[key] for key in _CITATION_KEYS} for citation in citations],
    }
