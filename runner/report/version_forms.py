"""compare.md, compare.junit.xml, compare.sarif and compare.html of two versions held together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from runner.records.run_store import write_bytes
from runner.records.versions import VersionChange, VersionCheck, VersionComparison, VersionFigure
from runner.report.exports import junit_document
from runner.report.grid import DASH, Table, clean, table, words
from runner.report.html import render_tables
from runner.report.markdown import escape
from runner.report.report_files import render_json

MOST_LINES = 60
"""Of a comment on a pull request."""
STICKY = "<!-- fairtrial compare -->"
"""By which a workflow finds its comment again."""
_STOPPING_SHOWN, _OTHERS_SHOWN, _QUESTIONS_SHOWN = 15, 14, 8
_SAYS_CHARS = 220
_SARIF = "2.1.0"
MADE_BY = "fairtrial"
_MARKS = {"regression": "✗", "note": "·", "better": "✓"}


# --- Markdown -----------------------------------------------------------------------------------


def markdown_of(found: VersionComparison) -> str:
    """At most 60 lines, the sentence first."""
    lines = [STICKY, f"**{escape(clean(found.sentence, 600))}**", ""]
    stopping = [it for it in found.changes if it.stops]
    lines += _listed("", stopping, _STOPPING_SHOWN)
    others = [it for it in found.changes if not it.stops]
    lines += _listed("To read", others, _OTHERS_SHOWN)
    lines += _figures(found.figures)
    lines += _answers(found)
    lines += [escape(line) for line in ending(found)]
    return "\n".join(lines[:MOST_LINES]).rstrip() + "\n"


def _listed(title: str, changes: Sequence[VersionChange], most: int) -> list[str]:
    if not changes:
        return []
    lines = [f"{title}:", ""] if title else []
    lines += [f"- {_MARKS[it.weight]} {escape(line_of(it))}" for it in changes[:most]]
    if len(changes) > most:
        lines.append(f"- … and {len(changes) - most} more, in compare.json")
    return [*lines, ""]


def line_of(change: VersionChange) -> str:
    """The change, where it stands, and why it is meant."""
    line = clean(change.says, _SAYS_CHARS)
    if change.path:
        line += f" ({change.path}:{change.line})"
    if change.allowed is not None:
        line += f" [allowed: {clean(change.allowed, 80)}]"
    return f"{line} [{change.name}]" if change.stops else line


def _figures(figures: Sequence[VersionFigure]) -> list[str]:
    if not figures:
        return []
    lines = ["| | base | head |", "|---|---|---|"]
    lines += [
        f"| {it.check} | {readings(it.base)} | {readings(it.head)} {it.unit} |" for it in figures
    ]
    return [*lines, ""]


def readings(values: Sequence[float]) -> str:
    """One figure, or the least and the greatest."""
    ends = dict.fromkeys(f"{value:,.1f}".removesuffix(".0") for value in (min(values), max(values)))
    return " to ".join(ends)


def _answers(found: VersionComparison) -> list[str]:
    if not found.answers:
        return []
    changed = [it for it in found.answers if it.base != it.head]
    rows = sorted(changed, key=lambda it: it.head - it.base)[:_QUESTIONS_SHOWN]
    count = len(found.answers)
    base = sum(it.base for it in found.answers) / count
    head = sum(it.head for it in found.answers) / count
    lines = [f"{count} questions, mean {base:.3f} → {head:.3f}:", ""]
    lines += [f"- {escape(it.scenario)}: {it.base:.2f} → {it.head:.2f}" for it in rows]
    if not rows:
        lines[0] = lines[0].replace(":", "; each answered alike.")
    return [*lines, ""] if rows else [lines[0], ""]


def ending(found: VersionComparison) -> Iterator[str]:
    """How it was measured, and what was not."""
    reused = found.base.reused
    yield (
        f"On {found.repository}: {len(found.base.readings)} examinations of each in turns, "
        f"{found.calls} calls replayed ({found.unstable} unstable), "
        f"{found.wall_sec:.0f} s." + (f" {_kept(found)}" if reused else "")
    )
    for line in found.not_asked:
        yield f"Not asked: {line}"


def _kept(found: VersionComparison) -> str:
    whose = "the base and the shell" if found.answers[0].shell is not None else "the base"
    return f"{found.base.reused} cells of {whose} were kept from an earlier comparison."


# --- for machines -------------------------------------------------------------------------------


def junit_of_versions(found: VersionComparison) -> bytes:
    """A case a check; what stops is a failure, what nobody could tell is skipped."""
    cases = [_case(found, check) for check in found.checks]
    return junit_document("fairtrial compare", {found.head.asked: cases})


def _case(found: VersionComparison, check: VersionCheck) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname="compare", name=check)
    own = [it for it in found.changes if it.check == check]
    if stopping := [it for it in own if it.stops]:
        failure = ElementTree.SubElement(case, "failure", message=line_of(stopping[0]), type=check)
        failure.text = "\n".join(map(line_of, stopping))
    elif check == "model" and found.verdict == "too_few":
        ElementTree.SubElement(case, "skipped", message=clean(found.sentence))
    if told := [line_of(it) for it in own if not it.stops]:
        ElementTree.SubElement(case, "system-out").text = "\n".join(told)
    return case


def sarif_of(found: VersionComparison) -> str:
    """Of what has a place in a file of the head's folder; nothing of a package."""
    placed = [it for it in found.changes if it.path]
    run = {
        "tool": {
            "driver": {
                "name": MADE_BY,
                "version": found.fairtrial,
                "rules": [{"id": check} for check in found.checks],
            }
        },
        "results": list(map(_result, placed)),
    }
    return json.dumps({"version": _SARIF, "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _result(change: VersionChange) -> dict[str, Any]:
    region = {"startLine": change.line} if change.line else {"startLine": 1}
    place = {"artifactLocation": {"uri": change.path}, "region": region}
    level = "error" if change.stops else "note"
    return {
        "ruleId": change.check,
        "level": level,
        "message": {"text": line_of(change)},
        "partialFingerprints": {"fairtrial/v1": change.name},
        "locations": [{"physicalLocation": place}],
    }


# --- the page -----------------------------------------------------------------------------------


def tables_of_versions(found: VersionComparison) -> Iterator[Table]:
    yield table(
        "What changed",
        (
            words("", lambda it: "stops" if it.stops else it.weight),
            words("check", lambda it: it.check),
            words("what", line_of),
        ),
        found.changes,
        notes=[clean(found.sentence, 600), *ending(found)],
    )
    if found.figures:
        yield table(
            "Measured",
            (
                words("figure", lambda it: f"{it.check}, {it.unit}"),
                words("base", lambda it: readings(it.base)),
                words("head", lambda it: readings(it.head)),
                words("margin", lambda it: f"{it.margin:.0%}, {it.floor:g} {it.unit} at least"),
            ),
            found.figures,
        )
    if found.answers:
        yield table(
            "Answers",
            (
                words("question", lambda it: clean(it.scenario)),
                words("model", lambda it: clean(it.model)),
                words("base", lambda it: f"{it.base:.3f}"),
                words("head", lambda it: f"{it.head:.3f}"),
                words("shell", lambda it: DASH if it.shell is None else f"{it.shell:.3f}"),
            ),
            found.answers,
        )
    differing = [it for it in found.changes if it.check == "session"]
    if differing:
        yield table(
            "Answers to the same calls",
            (
                words("call", lambda it: clean(it.says)),
                words("base", lambda it: clean(it.base)),
                words("head", lambda it: clean(it.head)),
            ),
            differing,
        )


def page_of_versions(found: VersionComparison) -> str:
    return render_tables(found.sentence, list(tables_of_versions(found)))


VERSION_FORMS: Mapping[str, Callable[[VersionComparison], str | bytes]] = {
    "compare.json": render_json,
    "compare.md": markdown_of,
    "compare.junit.xml": junit_of_versions,
    "compare.sarif": sarif_of,
    "compare.html": page_of_versions,
}
"""A file's name -> what makes it."""


def write_version_forms(found: VersionComparison, folder: Path) -> list[Path]:
    """Raises FairtrialError if the disk does not take one."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, made_of in VERSION_FORMS.items():
        made = made_of(found)
        write_bytes(folder / name, made.encode() if isinstance(made, str) else made)
        paths.append(folder / name)
    return paths
