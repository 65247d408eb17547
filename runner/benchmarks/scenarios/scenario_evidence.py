"""What of a scenario's cell is believed, and what its score follows from: the lock holds this code.

Whoever edits it lets another cell's evidence, or a score of other rules, into every figure.
"""

from __future__ import annotations

from pathlib import Path

from runner.catalog.checkout import Checkout
from runner.protocols import Judge
from runner.records import Cell, CellResult, Fingerprint, Scorecard, digest_of
from runner.records.transcript_files import iter_transcript
from runner.scoring import rules_digest, score_cell
from runner.support.code_digest import makes_figures


@makes_figures
class ScenarioEvidence:
    """The part of runs.benchmark.Benchmark that is asked after a cell has run."""

    def differing(
        self, cell: Cell, result: CellResult, checkout: Checkout
    ) -> dict[str, tuple[str, str]]:
        """runs.benchmark.Benchmark."""
        found = _fingerprinted(cell, result.fingerprint)
        loaded = checkout.catalog.scenarios.get(cell.scenario)
        if loaded is None:
            return {**found, "cell.scenario": (cell.scenario, "not in the catalog")}
        found["cell.inputs.scenario"] = (cell.inputs.get("scenario", ""), loaded.asked)
        commit = cell.inputs.get("commit", "")
        found["cell.inputs.commit"] = (commit, checkout.repository(loaded).commit)
        return found

    def basis(self, cell: Cell, checkout: Checkout) -> str:
        """runs.benchmark.Benchmark."""
        loaded = checkout.scenario(cell.scenario)
        commit = checkout.repository(loaded).commit
        return digest_of([cell.id, cell.server, commit, loaded.scored_by, rules_digest()])

    def score(
        self, cell: Cell, transcript: Path, checkout: Checkout, *, judge: Judge, cache_dir: Path
    ) -> Scorecard:
        """runs.benchmark.Benchmark."""
        loaded = checkout.scenario(cell.scenario)
        return score_cell(
            iter_transcript(transcript),
            loaded.scenario,
            loaded.rubric,
            cell_id=cell.id,
            server=cell.server,
            files=checkout.files(loaded),
            judge=judge,
            cache_dir=cache_dir,
        )


_INPUTS = {
    "harness": "harness",
    "base_image": "base_image",
    "commit": "commit",
    "limits": "limits",
    "model_identity": "model",
    "server_spec": "server",
}
"""Field of a fingerprint -> the input of its cell that says the same."""


def _fingerprinted(cell: Cell, fingerprint: Fingerprint | None) -> dict[str, tuple[str, str]]:
    if fingerprint is None:
        return {}
    found = {"fingerprint.server": (fingerprint.server, cell.server)}
    for field, name in _INPUTS.items():
        value = getattr(fingerprint, field)
        found[f"fingerprint.{field}"] = (value, cell.inputs.get(name, ""))
    moved = str(fingerprint.moved_lines or "")
    found["fingerprint.moved_lines"] = (moved, cell.inputs.get("moved_lines", ""))
    return found
