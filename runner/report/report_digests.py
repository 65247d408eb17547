"""A report as a file of digests, and the same report made again from the transcripts elsewhere.

`statement_of` says what there is; `differences` what of it cannot be found again, or comes out
otherwise. It is no signature: whoever publishes one signs it, or puts it where it cannot be
changed later.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from runner.gate.frozen import scoring_in_use
from runner.records.attestation import (
    PREDICATE,
    STATEMENT,
    Attested,
    Digests,
    Statement,
    Subject,
)
from runner.records.run_store import JUDGING, SCORECARD, RunStore
from runner.report.exports import EXPORTS
from runner.report.page_data import PageData
from runner.report.records import Report
from runner.report.report_files import FORMATS, PAGES, forms
from runner.support.errors import FairtrialError
from runner.support.tree_digest import digest_of_file

LOCKS = ("anchors.lock", "images.lock", "repos.lock", "requirements.txt")
DECIDING = ("markdown-it-py", "numpy", "scipy", "tree-sitter")
"""Beginnings of the names of packages whose version can move a figure."""


@dataclass(frozen=True, kw_only=True)
class AttestationMismatch:
    """One thing that is not as it was attested."""

    where: str
    attested: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: attested {self.attested}, found {self.found}"


# --- made -----------------------------------------------------------------------------------


def statement_of(root: Path, store: RunStore, report: Report, data: PageData) -> Statement:
    """Of a run whose report's files are all of this report. Raises FairtrialError if one is not."""
    _require_files(store, report, data)
    if report.contradictions:
        raise FairtrialError(
            f"{len(report.contradictions)} times a file says something else than its evidence",
            where=str(store.folder),
            hint=f"`fairtrial report {store.folder.name}` lists them; there is nothing to attest",
        )
    subject = [
        Subject(name=name, digest=Digests(sha256=sha)) for name, sha in _files(store).items()
    ]
    return Statement(
        type_=STATEMENT,
        subject=tuple(subject),
        predicate_type=PREDICATE,
        predicate=_attested(root, report),
    )


def _require_files(store: RunStore, report: Report, data: PageData) -> None:
    # A page that says more than report.json is what most readers see.
    for name, text in forms(report, data):
        _require_file(store, name, text.encode())
    for name, made_of in EXPORTS.values():
        # Beside the report only where somebody asked for it.
        if (store.folder / name).is_file():
            _require_file(store, name, made_of(report))


def _require_file(store: RunStore, name: str, content: bytes) -> None:
    path = store.folder / name
    if not path.is_file() or path.read_bytes() != content:
        raise FairtrialError(
            "is not what the transcripts give today",
            where=str(path),
            hint=f"`fairtrial report {store.folder.name}` writes it anew",
        )


def _attested(root: Path, report: Report) -> Attested:
    return Attested(
        run=report.run,
        evidence=report.repeat.evidence_digest,
        ungated=report.ungated,
        gate=report.gate,
        since=report.since,
        locks=_locks(root),
        scoring=scoring_in_use(),
        versions=_versions(),
        figures=numbers_by_path(report),
    )


def _files(store: RunStore) -> dict[str, str]:
    """Plan, every form of the report, verdicts, each ended attempt's files: name -> SHA256."""
    paths = [store.folder / name for name in ("plan.json", JUDGING, *FORMATS)]
    paths += (store.folder / PAGES).glob("*.html")
    paths += [store.folder / name for name, _ in EXPORTS.values()]
    # What a model said of an answer is evidence, too: it is not asked again.
    paths += store.judged.rglob("*.json")
    for cell in store.plan().cells:
        paths.append(store.cell_folder(cell.id) / SCORECARD)
        for attempt in store.ended_attempts(cell.id):
            paths += [attempt.transcript, attempt.path / "result.json"]
    names = {path.relative_to(store.folder).as_posix(): path for path in paths}
    return {name: _sha256(path) for name, path in sorted(names.items()) if path.is_file()}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _locks(root: Path) -> dict[str, str]:
    paths = {f"locks/{name}": root / "locks" / name for name in LOCKS}
    return {name: digest_of_file(path) for name, path in paths.items() if path.is_file()}


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for one in distributions():
        name = str(one.name).lower().replace("_", "-")
        if name.startswith(DECIDING):
            versions[name] = one.version
    return dict(sorted(versions.items()))


def numbers_by_path(report: Report) -> dict[str, float | str]:
    """Every number of arms and cells by its key path: `arms[0].fairness.score.value`."""
    plain = report.model_dump(mode="json", include={"arms", "sections"})
    return dict(_leaves(plain, ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, float | str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]")
    elif _is_figure(path, value):
        yield path, value


def _is_figure(path: str, value: Any) -> bool:
    # No other text: a model's name may be the path of its recording.
    if path.endswith(".judgement"):
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)


# --- held against what is here ----------------------------------------------------------------


def file_differences(statement: Statement, store: RunStore) -> Iterator[AttestationMismatch]:
    """Files of the run that are missing, others, or more than were attested."""
    attested = {item.name: item.digest.sha256 for item in statement.subject}
    yield from _differing(attested, _files(store))


def basis_differences(statement: Statement, root: Path) -> Iterator[AttestationMismatch]:
    """Locks, scoring code and versions that are not those it was made with."""
    attested = statement.predicate
    yield from _differing(attested.locks, _locks(root))
    scoring = {f"scoring {name}": value for name, value in attested.scoring.items()}
    yield from _differing(scoring, {f"scoring {k}": v for k, v in scoring_in_use().items()})


def version_differences(statement: Statement) -> Iterator[AttestationMismatch]:
    """Told, and no fault by themselves: the figures decide."""
    yield from _differing(statement.predicate.versions, _versions())


def report_differences(statement: Statement, report: Report) -> Iterator[AttestationMismatch]:
    """Figures that come out otherwise, and what every page would say above them."""
    attested = statement.predicate
    yield from _differing(attested.figures, numbers_by_path(report))
    says = {"ungated": attested.ungated, "since": attested.since, "gate": _standing(attested.gate)}
    found = {"ungated": report.ungated, "since": report.since, "gate": _standing(report.gate)}
    if attested.evidence is not None:
        says["evidence"] = attested.evidence
        found["evidence"] = report.repeat.evidence_digest
    yield from _differing(says, found)


def _standing(gate: Any) -> object:
    """Without what git could vouch for: that is of the machine, and said by its own report."""
    return gate and gate.model_copy(update={"history": ""})


def _differing(
    attested: Mapping[str, Any], found: Mapping[str, Any]
) -> Iterator[AttestationMismatch]:
    for name in sorted({*attested, *found}):
        one, other = attested.get(name, _NOTHING), found.get(name, _NOTHING)
        if one != other:
            yield AttestationMismatch(where=name, attested=_shown(one), found=_shown(other))


_NOTHING = "nothing"


def _shown(value: object) -> str:
    return str(value)[:80]
