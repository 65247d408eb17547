"""What every judge is given, as a digest: a stored verdict counts only for these inputs."""

from __future__ import annotations

from collections.abc import Sequence

from runner.records import AnswerStep, MustCite, Rubric, digest_of


def verdict_inputs(
    rubric: Rubric, answer: Sequence[AnswerStep], must_find: Sequence[Sequence[MustCite]]
) -> str:
    """SHA256 of everything a judge is given, and of nothing else."""
    places: list[list[object]] = []
    for step_places in must_find:
        places.append([place.model_dump(mode="json") for place in step_places])
    return digest_of(
        {
            "rubric": rubric.model_dump(mode="json"),
            "answer": [step.model_dump(mode="json") for step in answer],
            "must_find": places,
        }
    )
