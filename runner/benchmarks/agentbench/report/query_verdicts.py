"""A run's verdicts as a table that people fill in too."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from runner.benchmarks.agentbench.judging.mcp_eval import Judgment
from runner.benchmarks.agentbench.report.query_results import QueriesReport
from runner.records.run_store import write_whole


def write_verdicts(report: QueriesReport, path: Path) -> Path:
    """A table as `fairtrial agreement` takes it: item, category, the judge; blank if unscored."""
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["item", "category", report.judge])
    for row in report.models:
        for result in row.results:
            verdict = ""
            if isinstance(result.verdict, Judgment):
                verdict = "pass" if result.verdict.passed else "fail"
            table.writerow([f"{result.query} {row.model} {result.trial}", result.category, verdict])
    write_whole(path, text.getvalue())
    return path
