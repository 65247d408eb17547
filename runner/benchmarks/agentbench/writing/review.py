"""A person decides on a draft: takes it, or does what an expert does where trials failed.

Source: seed 003, section 2.1.3: revise the query, refine the answer, author the reference. Nothing
generated enters a suite but through here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.benchmarks.agentbench.proof.query_rules import query_problems
from runner.benchmarks.agentbench.proof.suite import read_queries
from runner.benchmarks.agentbench.proof.yaml_records import write_yaml
from runner.benchmarks.agentbench.queries import Queries, Query, ReferenceCall, ReferenceValue
from runner.benchmarks.agentbench.writing.drafts import Action, Decision, Drafts, QueryDraft
from runner.support.errors import CatalogError, FairtrialError

SHOWN_CHARS = 300
TO_FILL = "(to be written)"


@dataclass(frozen=True, kw_only=True)
class Review:
    """What a person did."""

    action: Action
    reviewer: str
    note: str = ""
    message: str = ""
    """Of `revise`: the new query."""
    edited: Query | None = None
    """Of `refine` and `author`."""


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    draft: QueryDraft
    accepted: Query | None
    """For a suite; None if the draft goes another way."""


def review(draft: QueryDraft, said: Review) -> Reviewed:
    """The draft as it is after the decision.

    Raises FairtrialError for a decision that does not fit, CatalogError for a query that is not
    sound.
    """
    if not said.reviewer.strip():
        raise FairtrialError("a decision needs a name", hint="say who reads with --reviewer")
    if draft.stage in ("accepted", "rejected"):
        raise FairtrialError(f"{draft.id} is {draft.stage} already")
    decision = Decision(action=said.action, reviewer=said.reviewer, note=said.note)
    decided = draft.model_copy(update={"decisions": (*draft.decisions, decision)})
    if said.action == "reject":
        return Reviewed(draft=decided, accepted=None)
    if said.action == "revise":
        return Reviewed(draft=_revised(decided, said.message), accepted=None)
    query = _decided(draft, said)
    accepted = _vouched(query, draft, said)
    if found := query_problems(accepted, draft.id):
        raise CatalogError(found, hint="mend it with `--action author --from FILE`")
    kept = decided.model_copy(update={"proposed": accepted, "problems": ()})
    return Reviewed(draft=kept, accepted=accepted)


def _revised(draft: QueryDraft, message: str) -> QueryDraft:
    """With another message: to be tried again."""
    if not message.strip() or message == draft.query:
        hint = "give it with --query TEXT"
        raise FairtrialError(f"{draft.id}: there is no new query", hint=hint)
    changes = {"query": message, "trials": (), "proposed": None, "problems": ()}
    return draft.model_copy(update=changes)


def _decided(draft: QueryDraft, said: Review) -> Query:
    """What is accepted, as far as the action may change what is proposed."""
    if said.action == "accept":
        if draft.stage != "read" or draft.proposed is None:
            hint = "revise the query, refine the answer, or author the reference"
            raise FairtrialError(f"{draft.id} needs an expert: {_why(draft)}", hint=hint)
        return draft.proposed
    if said.edited is None:
        hint = "--edit-to FILE writes what to start from, and --from FILE reads it"
        raise FairtrialError(f"{said.action} needs the edited query", hint=hint)
    edited = said.edited
    if (edited.id, edited.category, edited.query) != (draft.id, draft.category, draft.query):
        hint = "another message is a `revise`, and is tried again"
        raise FairtrialError(f"{draft.id}: the file has another id, category or query", hint=hint)
    if said.action == "refine" and (draft.proposed is None or edited.calls != draft.proposed.calls):
        hint = "another trajectory is an `author`"
        raise FairtrialError(f"{draft.id}: refine changes the answer alone", hint=hint)
    return edited


def _why(draft: QueryDraft) -> str:
    if draft.pass_rate is None:
        return "it has not been tried" if not draft.trials else "no trial could be judged"
    return f"{draft.pass_rate:.0%} of its trials passed; {'; '.join(draft.problems) or 'see there'}"


_DONE = {"accept": "read", "refine": "refined", "author": "authored"}


def _vouched(query: Query, draft: QueryDraft, said: Review) -> Query:
    provenance = f"{draft.provenance}; {_DONE[said.action]} by {said.reviewer.strip()}"
    return query.model_copy(update={"unreviewed": False, "provenance": provenance})


def edited_query(file: Path, name: str) -> Query:
    """The query of that id in a file that a person has edited. Raises FairtrialError."""
    for query in read_queries(file).queries:
        if query.id == name:
            return query
    raise FairtrialError(f"it holds no query called {name!r}", where=str(file))


# --- into a suite ---------------------------------------------------------------------------


def require_suite_place(place: Path | None) -> Path:
    """Raises FairtrialError if none is named: what is accepted would be nowhere."""
    if place is None:
        hint = "name a file or folder of queries with --into"
        raise FairtrialError("what is accepted goes into a suite", hint=hint)
    return place


def add_to_suite(place: Path, query: Query) -> Path:
    """Append to a file of queries, or to its category's in a folder; returns the file.

    Raises FairtrialError if it holds that id, or the query is unreviewed.
    """
    if query.unreviewed:
        raise FairtrialError(f"nobody has read {query.id}: no suite takes it")
    file = place / f"{query.category}.yaml" if place.is_dir() else place
    known = read_queries(file).queries if file.exists() else ()
    if query.id in {one.id for one in known}:
        raise FairtrialError(f"{query.id} is there already", where=str(file))
    write_yaml(file, Queries(queries=(*known, query)))
    return file


def starting_point(draft: QueryDraft) -> Queries:
    """What an expert edits: what is proposed, or the calls of the trial that got farthest."""
    if draft.proposed is not None:
        return Queries(queries=(draft.proposed,))
    best = max(draft.trials, key=lambda trial: (bool(trial.passed), len(trial.calls)), default=None)
    calls = best.references if best else ()
    if not calls:
        server, _, tool = draft.tools[0].partition("/")
        calls = (ReferenceCall(server=server, tool=tool),)
    query = Query(
        id=draft.id,
        category=draft.category,
        query=draft.query,
        servers=tuple(dict.fromkeys(call.server for call in calls)),
        reference_answer=(best.answer if best else "") or TO_FILL,
        values=(ReferenceValue(text=TO_FILL, call=1),),
        calls=calls,
        provenance=draft.provenance,
        unreviewed=True,
    )
    return Queries(queries=(query,))


# --- shown ----------------------------------------------------------------------------------


def queue_text(drafts: Drafts) -> Iterator[str]:
    """A line for each draft, those first that need an expert; then what a model did not give."""
    order = {"expert": 0, "read": 1, "drafted": 2, "accepted": 3, "rejected": 4}
    for draft in sorted(drafts.drafts, key=lambda one: order[one.stage]):
        rate = "—" if draft.pass_rate is None else f"{draft.pass_rate:.0%}"
        yield f"{draft.stage:8} {rate:>4}  {draft.id}: {_shortened(draft.query)}"
    for kind, count in sorted(Counter(one.kind for one in drafts.failures).items()):
        yield f"{kind:8} {count:>4}  (no draft came of these requests)"


def draft_text(draft: QueryDraft) -> Iterator[str]:
    """All that a reader needs of one."""
    yield f"{draft.id}: {draft.stage}, {draft.category}, {draft.provenance}"
    yield f"tools: {', '.join(draft.tools)}"
    yield f"query: {draft.query}"
    for number, trial in enumerate(draft.trials, 1):
        verdict = {True: "passed", False: "failed", None: "not judged"}[trial.passed]
        yield f"trial {number} ({trial.model}): {verdict} by {trial.judge}: {trial.reason}"
        for call in trial.calls:
            yield f"  {call.server}/{call.tool} {call.arguments} -> {_shortened(call.result)}"
        yield f"  answer: {_shortened(trial.answer)}"
    if draft.proposed is not None:
        yield f"proposed: {draft.proposed.reference_answer}"
        for value in draft.proposed.values:
            yield f"  {value.text} (call {value.call}, shown as {value.shown or value.text})"
    for problem in draft.problems:
        yield f"problem: {problem}"
    for decision in draft.decisions:
        yield f"{decision.action} by {decision.reviewer}. {decision.note}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"
