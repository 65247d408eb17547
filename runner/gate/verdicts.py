"""What a judge says of every anchor: judged now, or stored under locks/verdicts/ as accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.gate.calibration_data import Anchor
from runner.gate.frozen import canonical_text
from runner.protocols import Judge
from runner.records import Verdict, digest_of, parse_json
from runner.records.run_store import write_whole
from runner.scoring.judges.inputs import verdict_inputs
from runner.scoring.judges.stored import adds_up
from runner.support.errors import AnchorsDrifted, CatalogError, Drift, NoVerdict
from runner.support.tree_digest import digest_of_bytes

VERDICTS = "locks/verdicts"


def key_of(judge: Judge, anchor: Anchor) -> str:
    """Digest of all that could change a verdict: judge, rubric, prompts, answer, must-find set."""
    return digest_of([judge.name, judge.identity, _inputs(anchor)])


def _inputs(anchor: Anchor) -> str:
    return verdict_inputs(anchor.rubric, anchor.answer, anchor.must_find)


@dataclass(frozen=True, kw_only=True)
class _VerdictEntry:
    """One anchor's place under locks/verdicts/."""

    path: Path
    accepted: str | None
    """Digest of the file as the lock holds it; None if no generation does."""

    @property
    def where(self) -> str:
        return f"{VERDICTS}/{self.path.name}"


def _entry(root: Path, judge: Judge, anchor: Anchor, locked: Mapping[str, str]) -> _VerdictEntry:
    key = key_of(judge, anchor)
    return _VerdictEntry(path=root / VERDICTS / f"{key}.json", accepted=locked.get(key))


# --- a verdict for every anchor -------------------------------------------------------------


def verdicts_of(
    root: Path, judge: Judge, anchors: Sequence[Anchor], locked: Mapping[str, str]
) -> list[Verdict]:
    """One verdict per anchor. `locked`: a verdict's key -> digest of its file, as accepted.

    A stored verdict counts only if its digest is the accepted one. A deterministic judge is asked
    again every time, and has to say what was accepted. Raises AnchorsDrifted if a stored verdict is
    not what the lock says; NoVerdict naming every anchor without one if the judge is out of reach.
    """
    entries = [_entry(root, judge, anchor, locked) for anchor in anchors]
    _refuse_edited(anchors, entries)
    verdicts: list[Verdict] = []
    missing: list[str] = []
    for anchor, entry in zip(anchors, entries, strict=True):
        try:
            verdicts.append(_verdict(judge, anchor, entry))
        except NoVerdict as error:
            missing.append(f"  {anchor.name}: {error.what}")
    if missing:
        heading = f"{len(missing)} of {len(anchors)} anchors have no verdict of {judge.name}"
        raise NoVerdict(
            "\n".join([heading, *missing]),
            hint=(
                "make the judge reachable, or choose another with --judge; "
                "--ungated goes on without"
            ),
        )
    return verdicts


def _refuse_edited(anchors: Sequence[Anchor], entries: Sequence[_VerdictEntry]) -> None:
    drifts: list[Drift] = []
    for anchor, entry in zip(anchors, entries, strict=True):
        drifts += _edited(anchor, entry)
    if drifts:
        raise AnchorsDrifted(
            drifts,
            hint=(
                "take the committed files back, or delete them: "
                "a verdict comes from its judge alone"
            ),
        )


def _edited(anchor: Anchor, entry: _VerdictEntry) -> Iterator[Drift]:
    # A link could show one verdict to a reader and another to the gate.
    if entry.path.is_symlink():
        yield Drift(where=entry.where, what="is a symbolic link")
        return
    if entry.accepted is None or not entry.path.is_file():
        return
    found = digest_of_bytes(entry.path.read_bytes())
    if found != entry.accepted:
        what = f"is not the verdict on {anchor.name} that was accepted"
        yield Drift(where=entry.where, what=what, expected=entry.accepted, found=found)


def _verdict(judge: Judge, anchor: Anchor, entry: _VerdictEntry) -> Verdict:
    if entry.accepted is not None and entry.path.is_file() and not judge.deterministic:
        return _checked(_stored(entry), judge, anchor)
    found = judge.judge(anchor.rubric, anchor.answer, anchor.must_find, anchor.source)
    verdict = _checked(found, judge, anchor)
    if judge.deterministic and entry.accepted is not None:
        _refuse_another(verdict, judge, anchor, entry.accepted)
    return verdict


def _refuse_another(verdict: Verdict, judge: Judge, anchor: Anchor, accepted: str) -> None:
    """A judge whose words changed while its identity did not may say anything tomorrow."""
    found = digest_of_bytes(canonical_text(verdict).encode())
    if found == accepted:
        return
    what = f"{judge.name} no longer says what was accepted"
    drift = Drift(where=anchor.name, what=what, expected=accepted, found=found)
    raise AnchorsDrifted(
        [drift],
        hint="its identity should have changed with it; a judge that varies is not deterministic",
    )


def _stored(entry: _VerdictEntry) -> Verdict:
    try:
        return parse_json(entry.path.read_bytes(), Verdict, where=entry.where)
    except CatalogError as error:
        raise AnchorsDrifted(
            [Drift(where=entry.where, what="is no verdict")],
            hint="take the committed file back, or delete it",
        ) from error


# --- is it believed? ------------------------------------------------------------------------


def _checked(verdict: Verdict, judge: Judge, anchor: Anchor) -> Verdict:
    """Only a verdict of this judge on this very answer, with sums that hold. Raises NoVerdict."""
    asked = (judge.name, judge.identity, _inputs(anchor))
    if (verdict.judge, verdict.identity, verdict.inputs) != asked:
        raise NoVerdict("the verdict is of another judge, rubric or answer")
    if not adds_up(verdict, anchor.rubric):
        raise NoVerdict(
            "the verdict's figures do not follow from its criteria and the rubric's weights"
        )
    return verdict


# --- storing them ---------------------------------------------------------------------------


def write_verdicts(
    root: Path, judge: Judge, anchors: Sequence[Anchor], verdicts: Sequence[Verdict]
) -> dict[str, str]:
    """Store them; returns key -> digest of the file, as the lock holds them."""
    digests: dict[str, str] = {}
    for anchor, verdict in zip(anchors, verdicts, strict=True):
        key, text = key_of(judge, anchor), canonical_text(verdict)
        write_whole(root / VERDICTS / f"{key}.json", text)
        digests[key] = digest_of_bytes(text.encode())
    return digests


def forget_verdicts(root: Path, keep: set[str]) -> None:
    """Remove what no judge of the lock goes by any more; git keeps it."""
    for path in (root / VERDICTS).glob("*.json"):
        if path.stem not in keep:
            path.unlink()
