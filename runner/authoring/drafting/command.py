"""What `fairtrial scenario new` does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from runner.authoring.drafting.families import families
from runner.authoring.drafting.fix_commits import fixes, question
from runner.authoring.drafting.questions import StepDraft
from runner.authoring.drafting.scenario_files import OWN, ScenarioDraft, write_draft
from runner.authoring.drafting.symbol_choice import propose, propose_about
from runner.authoring.drafting.syntax import parse
from runner.authoring.drafting.traits import trait_families
from runner.authoring.drafting.tree import Tree
from runner.catalog.locks import read_repos_lock, write_repos_lock
from runner.catalog.project import require_catalog_place
from runner.grounding.commit_files import GitFiles
from runner.protocols import Log
from runner.records import CommitSha
from runner.records.repositories import plain_name
from runner.repositories.folders import OwnRepository, own_source
from runner.repositories.local_labels import LOCAL_FILE, history_of, label_of, remember
from runner.support.errors import FairtrialError

_OFFERED = 60
"""Commits that mend something, looked at for those whose places are worth a question."""
_NO_FIX_HINT = "its messages have to say that they fix something; a shallow clone has no history"


@dataclass(frozen=True, kw_only=True)
class DraftRequest:
    """What is asked of it."""

    repo: str
    """A path or URL."""
    commit: str | None = None
    """None for HEAD."""
    dirty: bool = False
    """Take a folder's files as they are."""
    id: str = ""
    """Empty for one made from what is asked."""
    label: str = ""
    """What a folder is called in tracked files; empty for one of our own."""
    questions: int = 3
    """Steps, at most."""
    symbol: str = ""
    """To ask about; empty for the best."""
    from_history: int = 0
    """Scenarios to make of commits; 0 for one of the tree."""


@dataclass(frozen=True, kw_only=True)
class NewScenario:
    """What was written."""

    id: str
    folder: Path
    steps: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        return {"id": self.id, "folder": str(self.folder), "steps": list(self.steps)}

    def as_text(self) -> str:
        return f"wrote {self.folder}: {', '.join(self.steps)}"


def new_scenarios(
    request: DraftRequest, project: Path, state: Path, environ: Mapping[str, str], log: Log
) -> list[NewScenario]:
    """Write them to the project's scenarios/own/, unreviewed, and pin their repository.

    Raises FairtrialError if nothing can be proven, or if a folder is there already.
    """
    require_catalog_place(project)
    label = label_of(project, request.repo, request.label)
    source_at = partial(own_source, request.repo, state=state, label=label, environ=environ)
    own = source_at(commit=request.commit, dirty=request.dirty)
    for note in own.notes:
        log(note)
    if request.from_history:
        place = history_of(own, request.repo, state, environ)
        made = []
        for mended in islice(_mended(place, own.commit), request.from_history):
            log(f"chosen: {mended.proposal.about}")
            before = source_at(commit=mended.parent, dirty=False)
            made.append(_write(_from_fix(request, mended, before), before, project))
        if not made:
            what = "no commit of it makes a question"
            raise FairtrialError(what, where=request.repo, hint=_NO_FIX_HINT)
        return made
    with GitFiles(own.path, own.commit) as files:
        draft = _from_tree(request, own, files, log)
    return [_write(draft, own, project)]


def _from_tree(
    request: DraftRequest, own: OwnRepository, files: GitFiles, log: Log
) -> ScenarioDraft:
    tree = Tree(files)
    log(f"read {len(tree.code)} files of code, most of it {tree.language}")
    if request.symbol:
        proposals = propose_about(tree, request.symbol, request.questions)
    else:
        proposals = propose(tree, [*families(tree), *trait_families(tree)], request.questions)
    for proposal in proposals:
        log(f"chosen: {proposal.about}")
    if not request.symbol:
        log("--symbol NAME asks about another")
    return ScenarioDraft(
        id=request.id or plain_name(proposals[0].step.name)[:63] or "own",
        source=own.source,
        language=tree.language,
        proposals=proposals,
        origin="the tree",
        notes=tuple(_notes(tree, proposals)),
    )


def _notes(tree: Tree, proposals: Sequence[StepDraft]) -> Iterator[str]:
    """What was not read as code, and names what is asked about."""
    for proposal in proposals:
        for name in re.findall(r"`(?:\w+\.)?(\w+)`", proposal.step.prompt)[:1]:
            symbol = tree.symbol(name)
            if not isinstance(symbol, str) and symbol.written:
                some = ", ".join(symbol.written[:3])
                yield f"{name} is also written in {some}: not read as code; look there yourself."


def _from_fix(request: DraftRequest, mended: _FixCommit, before: OwnRepository) -> ScenarioDraft:
    name = mended.proposal.step.name
    return ScenarioDraft(
        id=request.id if request.from_history == 1 and request.id else name,
        source=before.source,
        language=mended.language,
        proposals=[mended.proposal],
        origin=f"the history, commit {name.removeprefix('fix-')}",
        notes=("Say the symptom in the prompt as its reporter would, if that is another.",),
    )


class _FixCommit(NamedTuple):
    """A commit that mended something in several places."""

    parent: CommitSha
    proposal: StepDraft
    language: str


def _mended(place: Path, head: CommitSha) -> list[_FixCommit]:
    """Those whose places lie in functions first, then the newest."""
    found = []
    for fix in islice(fixes(place, head), _OFFERED):
        with GitFiles(place, fix.parent) as files:
            if proposal := question(fix, files):
                path = fix.changes[0][0]
                parsed = parse(path, files.read(path), files.blob_sha(path))
                language = parsed.language if parsed else "text"
                found.append(_FixCommit(fix.parent, proposal, language))
    return sorted(found, key=lambda it: -_named(it.proposal))


def _named(proposal: StepDraft) -> int:
    """Of ten places, how many lie in something that has a name."""
    facts = proposal.rubric.facts
    named = [fact for fact in facts if "." not in fact.terms[0][0]]
    return 10 * len(named) // len(facts)


def _write(draft: ScenarioDraft, own: OwnRepository, project: Path) -> NewScenario:
    folder = project / "scenarios" / OWN / draft.id
    if folder.exists():
        hint = "choose another name with --id, or remove it"
        raise FairtrialError("that scenario is there already", where=str(folder), hint=hint)
    write_draft(folder, draft)
    keep(project, own)
    return NewScenario(
        id=draft.id, folder=folder, steps=tuple(it.step.name for it in draft.proposals)
    )


def keep(project: Path, own: OwnRepository) -> None:
    """Pin it, and note where a folder is, in a file that git ignores."""
    if own.folder is not None:
        remember(project, own.source.local_label or "", own.folder)
        # Or the next `git add .` would publish where the user keeps their work.
        path = project / ".gitignore"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if LOCAL_FILE not in text.split():
            path.write_text(f"{text.rstrip()}\n{LOCAL_FILE}\n".lstrip(), encoding="utf-8")
    write_repos_lock(project, {**read_repos_lock(project), own.source.label: own.pin})
