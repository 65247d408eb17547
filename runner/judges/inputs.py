"""What every judge is given, as a digest: a stored verdict counts only for these inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.records import AnswerStep, MustCite, Record, Rubric, digest_of


def verdict_inputs(
    rubric: Rubric, answer: Sequence[AnswerStep], must_find: Sequence[Sequence[MustCite]]
) -> str:
    """SHA256 of everything a judge is given, and of nothing else."""
    return digest_of(
        {
            "rubric": rubric.model_dump(mode="json"),
            "answer": _as_json(answer),
            "must_find": list(map(_as_json, must_find)),
        }
    )


def _as_json(records: Sequence[Record]) -> list[dict[str, Any]]:
    return [record.model_dump(mode="json") for record in records]
