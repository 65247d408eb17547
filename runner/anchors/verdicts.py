"""What a judge says of every anchor: judged now, or stored under locks/verdicts/ and proven to be what was accepted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from runner.anchors.frozen import digest_of_bytes
from runner.anchors.material import Anchor
from runner.errors import AnchorsDrifted, CatalogError, Drift, NoVerdict
from runner.judges.inputs import verdict_inputs
from runner.protocols import Judge
from runner.records import Rubric, Verdict, canonical_json, digest_of, parse_json
from runner.store import write_whole

VERDICTS = "locks/verdicts"
_EXACT = 1e-9


def key_of(judge: Judge, anchor: Anchor) -> str:
    """Digest of all that could change a verdict: judge, rubric, prompts, answer and must-find set."""
    return digest_of(
        [judge.name, judge.identity, verdict_inputs(anchor.rubric, anchor.answer, anchor.must_find)]
    )


def text_of(verdict: Verdict) -> str:
    return canonical_json(verdict.model_dump(mode="json")) + "\n"


def verdicts_of(
    root: Path, judge: Judge, anchors: Sequence[Anchor], locked: Mapping[str, str]
) -> list[Verdict]:
    """One verdict an anchor. `locked`: verdict's key -> digest of its file, as accepted; a stored verdict counts only where that holds.

    A deterministic judge is asked again every time, and has to say what was accepted. Raises AnchorsDrifted where a stored verdict is not
    what the lock says, NoVerdict naming every anchor that has none while its judge is out of reach.
    """
    drifts = [drift for anchor in anchors for drift in _edited(root, judge, anchor, locked)]
    if drifts:
        raise AnchorsDrifted(
            drifts,
            hint="take the committed files back, or delete them: a verdict comes from its judge alone",
        )
    verdicts: list[Verdict] = []
    missing: list[str] = []
    for anchor in anchors:
        try:
            verdicts.append(_verdict(root, judge, anchor, locked))
        except NoVerdict as error:
            missing.append(f"  {anchor.name}: {error.what}")
    if missing:
        what = (
            f"{len(missing)} of {len(anchors)} anchors have no verdict of {judge.name}\n"
            + "\n".join(missing)
        )
        raise NoVerdict(
            what,
            hint="make the judge reachable, or choose another with --judge; --ungated goes on without",
        )
    return verdicts


def _edited(root: Path, judge: Judge, anchor: Anchor, locked: Mapping[str, str]) -> Iterator[Drift]:
    key = key_of(judge, anchor)
    path = root / VERDICTS / f"{key}.json"
    where = f"{VERDICTS}/{path.name}"
    if path.is_symlink():
        yield Drift(where=where, what="is a symbolic link")
    elif path.is_file() and key in locked and digest_of_bytes(path.read_bytes()) != locked[key]:
        what = f"is not the verdict on {anchor.name} that was accepted"
        yield Drift(
            where=where, what=what, expected=locked[key], found=digest_of_bytes(path.read_bytes())
        )


def _verdict(root: Path, judge: Judge, anchor: Anchor, locked: Mapping[str, str]) -> Verdict:
    key = key_of(judge, anchor)
    path = root / VERDICTS / f"{key}.json"
    if key in locked and path.is_file() and not judge.deterministic:
        return _checked(_parsed(path), judge, anchor)
    verdict = _checked(judge.judge(anchor.rubric, anchor.answer, anchor.must_find), judge, anchor)
    found = digest_of_bytes(text_of(verdict).encode())
    if judge.deterministic and found != locked.get(key, found):
        drift = Drift(
            where=anchor.name,
            what=f"{judge.name} no longer says what was accepted",
            expected=locked[key],
            found=found,
        )
        raise AnchorsDrifted(
            [drift],
            hint="its identity should have changed with it; a judge that varies is not deterministic",
        )
    return verdict


def _parsed(path: Path) -> Verdict:
    try:
        return parse_json(path.read_bytes(), Verdict, where=f"{VERDICTS}/{path.name}")
    except CatalogError as error:
        drift = Drift(where=f"{VERDICTS}/{path.name}", what="is no verdict")
        raise AnchorsDrifted([drift], hint="take the committed file back, or delete it") from error


def _checked(verdict: Verdict, judge: Judge, anchor: Anchor) -> Verdict:
    """Only a verdict of this judge on this very answer, whose sums hold, counts. Raises NoVerdict."""
    inputs = verdict_inputs(anchor.rubric, anchor.answer, anchor.must_find)
    if (verdict.judge, verdict.identity, verdict.inputs) != (judge.name, judge.identity, inputs):
        raise NoVerdict("the verdict is of another judge, rubric or answer")
    if not adds_up(verdict, anchor.rubric):
        raise NoVerdict(
            "the verdict's figures do not follow from its criteria and the rubric's weights"
        )
    return verdict


def adds_up(verdict: Verdict, rubric: Rubric) -> bool:
    """Each step is Σ weight × score of the rubric's criteria, the whole the mean of the steps."""
    if [step.name for step in verdict.steps] != [step.name for step in rubric.steps]:
        return False
    for said, asked in zip(verdict.steps, rubric.steps, strict=True):
        if said.criteria.keys() != asked.criteria.keys():
            return False
        total = math.fsum(
            asked.criteria[name].weight * criterion.score
            for name, criterion in said.criteria.items()
        )
        if abs(said.quality - min(1.0, total)) > _EXACT:
            return False
    return (
        abs(
            verdict.quality - math.fsum(step.quality for step in verdict.steps) / len(verdict.steps)
        )
        <= _EXACT
    )


def write_verdicts(
    root: Path, judge: Judge, anchors: Sequence[Anchor], verdicts: Sequence[Verdict]
) -> dict[str, str]:
    """Store them; key -> digest of the file, as the lock holds them."""
    texts = {
        key_of(judge, anchor): text_of(verdict)
        for anchor, verdict in zip(anchors, verdicts, strict=True)
    }
    for key, text in texts.items():
        write_whole(root / VERDICTS / f"{key}.json", text)
    return {key: digest_of_bytes(text.encode()) for key, text in texts.items()}


def forget_verdicts(root: Path, keep: set[str]) -> None:
    """Remove what no judge of the lock goes by any more; git keeps it."""
    for path in (root / VERDICTS).glob("*.json"):
        if path.stem not in keep:
            path.unlink()
