"""Drafts tried: K trajectories each, judged; a reference proposed, or an expert asked for.

Source: seed 003, section 2.1.3 and appendix B. A judge here has no reference to go by: it holds an
answer to the draft's question and to what the tools returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from runner.agents.spending import Account, JudgeBudget
from runner.agents.usage import UsageTotals
from runner.benchmarks.agentbench.proof.query_rules import query_problems
from runner.benchmarks.agentbench.proof.trajectory import NUMBER, has_telling_number, numbers
from runner.benchmarks.agentbench.query_prompts import SYSTEMS, QueryMode
from runner.benchmarks.agentbench.testbed.router import Router
from runner.benchmarks.agentbench.working import (
    QueryConversation,
    RoutedTools,
    asked_as,
    instructions_of,
    request_of,
)
from runner.benchmarks.agentbench.writing.derive import NotDerivable, derived, values_in
from runner.benchmarks.agentbench.writing.drafts import TRIES, DraftTrial, QueryDraft, ToolUsed
from runner.protocols import Model
from runner.records import Event, Outcome, Prose, ToolCall, ToolResult, Usage


@dataclass(frozen=True, kw_only=True)
class TrialJudgment:
    passed: bool | None
    """None if it could not be judged."""
    reason: str


class TrialJudge(Protocol):
    """Sees the question, the answer and what the tools returned."""

    @property
    def name(self) -> str: ...

    async def judge(self, draft: QueryDraft, trial: DraftTrial) -> TrialJudgment:
        """Raises ProviderError or SpendingCap."""


# --- one trajectory -------------------------------------------------------------------------


@dataclass(kw_only=True)
class TrialSetup:
    """How drafts are tried."""

    open_model: Callable[[], Model]
    """A fresh one for each trajectory."""
    mode: QueryMode
    result_chars: int
    purse: JudgeBudget
    judge: TrialJudge
    tries: int = TRIES

    async def trial(self, draft: QueryDraft, router: Router) -> DraftTrial:
        """Raises SandboxError, ServerError, ProviderError or SpendingCap."""
        self.purse.require()
        model = self.open_model()
        events: list[Event] = []
        try:
            outcome = await self._conversation(draft, router, model, events).run()
        finally:
            for event in events:
                if isinstance(event, Usage):
                    self.purse.add(model.name, event)
            await model.close()
        trial = _trial(model.name, outcome, events, router)
        judged = await self.judge.judge(draft, trial)
        told = {"passed": judged.passed, "reason": judged.reason, "judge": self.judge.name}
        return trial.model_copy(update=told)

    def _conversation(
        self, draft: QueryDraft, router: Router, model: Model, events: list[Event]
    ) -> QueryConversation:
        return QueryConversation(
            model=asked_as(self.mode, model),
            scenario=request_of(draft),
            toolbox=RoutedTools(router, self.result_chars),
            record=events.append,
            totals=UsageTotals(
                price=self.purse.priced.get(model.name), account=Account(cap_usd=self._left_usd())
            ),
            instructions=instructions_of(router.listings),
            system=SYSTEMS[self.mode],
        )

    def _left_usd(self) -> float | None:
        left = self.purse.left_usd
        return None if left is None else left - self.purse.usd


def _trial(model: str, outcome: Outcome, events: Sequence[Event], router: Router) -> DraftTrial:
    usage = [event for event in events if isinstance(event, Usage)]
    return DraftTrial(
        model=model,
        outcome=outcome.kind,
        calls=tuple(_calls(events, router)),
        answer=_answer(events) if outcome.kind == "answered" else "",
        passed=None,
        judge="",
        reason="",
        tokens=sum(one.input_tokens + one.output_tokens for one in usage),
    )


def _calls(events: Sequence[Event], router: Router) -> list[ToolUsed]:
    """Calls of tools that there are, in the order in which they were made."""
    asked = {event.call_id: event for event in events if isinstance(event, ToolCall)}
    known = {tool.name: tool for tool in router.tools}
    made = []
    for event in events:
        if isinstance(event, ToolResult) and (tool := known.get(asked[event.call_id].tool)):
            made.append(
                ToolUsed(
                    server=tool.server,
                    tool=tool.own_name,
                    arguments=asked[event.call_id].arguments,
                    result=event.text,
                    # What was cut is not what the tool answered: no reference rests on it.
                    is_error=event.is_error or event.truncated,
                )
            )
    return made


def _answer(events: Sequence[Event]) -> str:
    """The prose of the last turn."""
    prose = [event for event in events if isinstance(event, Prose)]
    return "\n".join(event.text for event in prose if event.turn == prose[-1].turn).strip()


# --- what a rule can tell -------------------------------------------------------------------


class RuleJudge:
    """Deterministic, free, and strict: an answer passes that rests on what tools returned.

    It cannot tell whether the right thing was asked for: hence several trajectories, and a reader.
    """

    name = "rules"

    async def judge(self, draft: QueryDraft, trial: DraftTrial) -> TrialJudgment:
        objection = next((found for rule in OBJECTIONS if (found := rule(draft, trial))), "")
        if objection:
            return TrialJudgment(passed=False, reason=objection)
        return TrialJudgment(passed=True, reason="its figures are those that the tools returned")


def _no_answer(_: QueryDraft, trial: DraftTrial) -> str:
    if trial.outcome != "answered":
        return f"it ended as {trial.outcome}"
    return "" if trial.answer else "there is no answer"


def _not_the_pattern(draft: QueryDraft, trial: DraftTrial) -> str:
    calls = [call for call in trial.calls if not call.is_error]
    if not calls:
        return "no tool returned anything"
    if not draft.category.endswith("-single-call") and len(calls) < 2:
        return f"one call was enough; {draft.category} needs two or more"
    several = draft.category in ("multi-server-parallel-call", "multi-server-sequential-call")
    if several and len({call.server for call in calls}) < 2:
        return f"one server was enough; {draft.category} needs two or more"
    return ""


def _invented(draft: QueryDraft, trial: DraftTrial) -> str:
    """A figure that neither the query nor a result shows."""
    shown = numbers("\n".join([draft.query, *(call.result for call in trial.calls)]))
    for written in NUMBER.findall(trial.answer):
        told = float(written.replace(",", ""))
        digits = len(written.partition(".")[2])
        half = 0.5 * 10.0**-digits
        if has_telling_number(written) and not any(abs(told - number) <= half for number in shown):
            return f"{written} is in no result, and not in the query"
    return ""


def _no_evidence(draft: QueryDraft, trial: DraftTrial) -> str:
    if not values_in(trial.answer, draft.query, trial.references):
        return "the answer holds nothing that only a tool's result shows"
    return ""


OBJECTIONS: tuple[Callable[[QueryDraft, DraftTrial], str], ...] = (
    _no_answer,
    _not_the_pattern,
    _invented,
    _no_evidence,
)


# --- a draft --------------------------------------------------------------------------------


def annotated(draft: QueryDraft, trials: Sequence[DraftTrial]) -> QueryDraft:
    """With its trials, and with what they propose: the reference that most that passed agree on."""
    tried = draft.model_copy(update={"trials": tuple(trials), "proposed": None, "problems": ()})
    passed = [trial for trial in trials if trial.passed]
    if not passed:
        return tried.model_copy(update={"problems": ("no trajectory passed",)})
    try:
        proposed = derived(draft, _agreed(draft, passed))
    except NotDerivable as error:
        return tried.model_copy(update={"problems": (str(error),)})
    found = [str(problem) for problem in query_problems(proposed, draft.id)]
    return tried.model_copy(update={"proposed": proposed, "problems": tuple(found)})


def _agreed(draft: QueryDraft, passed: Sequence[DraftTrial]) -> DraftTrial:
    """The one whose values most others say too; of several the one with the fewest calls."""
    said = [
        frozenset(value.text for value in values_in(trial.answer, draft.query, trial.references))
        for trial in passed
    ]
    count = Counter(text for texts in said for text in texts)

    def rank(index: int) -> tuple[float, int]:
        shared = sum(count[text] for text in said[index]) / max(1, len(said[index]))
        return -shared, len(passed[index].calls)

    return passed[min(range(len(passed)), key=rank)]
