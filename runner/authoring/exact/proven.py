"""Of questions that were made, those that nobody can game: the gate asks it of all that ship."""

from __future__ import annotations

import tempfile
from pathlib import Path

from runner.catalog.catalog import loaded_question
from runner.gate.exact_pairs import ask_pairs
from runner.protocols import Files, Log
from runner.records import ExactQuestion, ExactQuestions
from runner.scoring.judges.exact_judge import Exact


def proven(folder: str, asked: ExactQuestions, files: Files, log: Log) -> list[ExactQuestion]:
    """Without those of which a worse answer is worth as much as the key; each of them is told."""
    kept = []
    # What is parsed for one answer is what the next one cites.
    with tempfile.TemporaryDirectory(prefix="fairtrial-") as cache:
        for question in asked.questions:
            loaded = loaded_question(folder, asked, question)
            lost = ask_pairs(Exact(), loaded, files, cache_dir=Path(cache)).lost
            if lost:
                log(f"left out: {question.name}: {lost[0][0]} scores as much as the key")
            else:
                kept.append(question)
    return kept
