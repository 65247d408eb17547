"""Who judges trials: rules, or a model that sees what the tools returned."""

from __future__ import annotations

import json
from dataclasses import dataclass

from runner.agents.models import open_model
from runner.agents.models.model_settings import ModelSettings
from runner.agents.spending import JudgeBudget
from runner.benchmarks.agentbench.judging.mcp_eval import read_judgment
from runner.benchmarks.agentbench.writing.annotate import RuleJudge, TrialJudge, TrialJudgment
from runner.benchmarks.agentbench.writing.drafts import DraftTrial, QueryDraft
from runner.benchmarks.agentbench.writing.writer import NoUsableReply, Writer, prompt
from runner.scoring.judges.form import fenced
from runner.support.errors import FairtrialError
from runner.support.text import cut

RESULT_CHARS = 4000
"""Of one result, as the judge sees it."""
PREFIX = "model:"


def open_trial_judge(name: str, settings: ModelSettings, purse: JudgeBudget) -> TrialJudge:
    """`rules`, or `model:<id>`. Raises FairtrialError for any other."""
    if name == RuleJudge.name:
        return RuleJudge()
    if not name.startswith(PREFIX):
        hint = f"there are {RuleJudge.name} and {PREFIX}ID"
        raise FairtrialError(f"no judge of trials is called {name!r}", hint=hint)
    open_model(name.removeprefix(PREFIX), settings)
    return ModelTrialJudge(name=name, settings=settings, purse=purse)


@dataclass(frozen=True, kw_only=True)
class ModelTrialJudge:
    """Asked once more if its reply holds no judgment; then the trial is not judged."""

    name: str
    settings: ModelSettings
    purse: JudgeBudget

    async def judge(self, draft: QueryDraft, trial: DraftTrial) -> TrialJudgment:
        """Raises ProviderError or SpendingCap."""
        model = open_model(self.name.removeprefix(PREFIX), self.settings)
        writer = Writer(model=model, purse=self.purse)
        try:
            return await writer.write(prompt("trial"), request(draft, trial), _read)
        except NoUsableReply as error:
            return TrialJudgment(passed=None, reason=error.problem)
        finally:
            await model.close()


def request(draft: QueryDraft, trial: DraftTrial) -> str:
    """Everything between marks that it cannot hold."""
    calls = [
        f"{call.server}/{call.tool} {json.dumps(call.arguments, ensure_ascii=False)}\n"
        f"{'error: ' if call.is_error else ''}{cut(call.result, RESULT_CHARS)[0]}"
        for call in trial.calls
    ]
    blocks = {
        "MESSAGE": draft.query,
        "CALLS AND RESULTS": "\n\n".join(calls) or "(no tool was called)",
        "ANSWER": trial.answer or f"(none: it ended as {trial.outcome})",
    }
    return f"{fenced(blocks)}\nDoes the answer do what the user asked for?"


def _read(reply: str) -> TrialJudgment:
    """As MCP-Eval reads one. Raises BrokenReply."""
    said = read_judgment(reply)
    return TrialJudgment(passed=said.passed, reason=" ".join(said.reason.split()))
