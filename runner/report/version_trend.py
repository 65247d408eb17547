"""A server's figure by version, over the runs and comparisons of a folder.

Figures are a trend only over the same questions and the same model: each such set is a series.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.records import digest_of, load_json
from runner.records.record import Count, Record
from runner.report.clusters import LEAST_QUESTIONS
from runner.report.figures import bounds, rounded
from runner.report.grid import DASH, Table, clean, number, table, words
from runner.scoring import statistics

_MOST_BYTES = 64 * 1024 * 1024
_QUESTIONS_SHOWN = 8


class TrendPoint(Record):
    """One version's figure in one run."""

    version: str
    run: str
    """Of the folder."""
    created_at: str
    model: str
    figure: str
    """`F1` or `fairness`."""
    value: float
    low: float | None
    """Of 95 %; None of too few clusters for an interval."""
    high: float | None
    questions: Count
    series: str
    """The same of the same questions and model: eight digits of their digest."""


def trend_of(server: str, runs: Path) -> list[TrendPoint]:
    """Of every report.json and compare.json below, by version; what cannot be read has none.

    `server`: an arm's name, or how the names of its versions begin.
    """
    found = []
    for path in sorted([*runs.glob("*/report.json"), *runs.glob("*/compare.json")]):
        if path.stat().st_size <= _MOST_BYTES:
            read = _of_report if path.name == "report.json" else _of_comparison
            found += _readable(read, path, server)
    return sorted(found, key=lambda it: (it.series, version_key(it.version), it.created_at))


def _readable(read: Any, path: Path, server: str) -> list[TrendPoint]:
    """None of a report of another version of ours, or of somebody else's file."""
    try:
        return list(read(load_json(path.read_text("utf-8")), path.parent.name, server))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def version_key(version: str) -> list[tuple[int, str]]:
    """`1.10.0` comes behind `1.9.2`."""
    parts = re.split(r"[.+-]", version)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _is_of(name: str, server: str) -> bool:
    return (
        name == server or re.fullmatch(rf"{re.escape(server)}-[0-9a-f.]*[\w.]*", name) is not None
    )


def _of_report(report: Mapping[str, Any], run: str, server: str) -> Iterator[TrendPoint]:
    keyed = {arm["label"]: arm["f1"] for arm in (report.get("keyed") or {}).get("arms", ())}
    for arm in report["arms"]:
        figure = keyed.get(arm["label"]) or arm["fairness"]["score"]
        if _is_of(arm["server"], server) and figure["value"] is not None:
            yield TrendPoint(
                version=str(arm["version"]),
                run=run,
                created_at=str(report["created_at"]),
                model=str(arm["model"]),
                figure="F1" if keyed else "fairness",
                value=float(figure["value"]),
                low=figure["low"],
                high=figure["high"],
                questions=len(report["scenarios"]),
                series=_series(report["scenarios"], arm["model"]),
            )


def _of_comparison(found: Mapping[str, Any], run: str, server: str) -> Iterator[TrendPoint]:
    for name in ("base", "head"):
        side = found[name]
        models = dict.fromkeys(it["model"] for it in found["answers"])
        for model in models if _is_of(side["server"], server) else ():
            own = [it for it in found["answers"] if it["model"] == model]
            figures = statistics.ClusterMean(figures=tuple(float(it[name]) for it in own))
            # Fewer questions about one repository have no interval: they go together.
            enough = len(own) >= LEAST_QUESTIONS
            low, high = bounds(figures.interval() if enough else None)
            yield TrendPoint(
                version=str(side["version"]),
                run=run,
                created_at=str(found["created_at"]),
                model=model,
                figure="F1",
                value=rounded(figures.value),
                low=low,
                high=high,
                questions=len({it["scenario"] for it in own}),
                series=_series([it["scenario"] for it in own], model),
            )


def _series(questions: list[str], model: str) -> str:
    return digest_of([sorted({*questions}), model])[:_QUESTIONS_SHOWN]


def trend_table(server: str, points: list[TrendPoint]) -> Table:
    series = {it.series for it in points}
    notes = []
    if len(series) > 1:
        notes.append(
            f"{len(series)} series: figures over other questions, or of another model, are no trend"
        )
    return table(
        f"{server}, version by version",
        (
            words("version", lambda it: clean(it.version)),
            number("figure", lambda it: f"{it.value:.3f}"),
            number("95 %", _interval),
            words("of", lambda it: f"{it.figure}, {it.questions} questions"),
            words("model", lambda it: clean(it.model)),
            words("series", lambda it: it.series),
            words("run", lambda it: clean(it.run)),
        ),
        points,
        notes=notes,
    )


def _interval(point: TrendPoint) -> str:
    if point.low is None or point.high is None:
        return DASH
    return f"[{point.low:.3f}, {point.high:.3f}]"
