"""What a verdict follows from, as digests: what a judge is given, and its own code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from runner import records
from runner.records import AnswerStep, MustCite, Record, Rubric, digest_of
from runner.support.code_digest import Root, definitions_digest


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


def judging_code(*roots: Root, apart_from: Collection[str] = ()) -> str:
    """SHA256 of the definitions that the roots lead to: a part of a judge's identity."""
    # What records read is digested with the inputs of each verdict: a new field of a cell's record
    # must not ask for every anchor to be accepted again.
    return definitions_digest(*roots, apart_from={*dir(records), *apart_from})


def _as_json(records: Sequence[Record]) -> list[dict[str, Any]]:
    return [record.model_dump(mode="json") for record in records]
