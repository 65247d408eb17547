"""What the offline program, and models that are asked for, answer with each of two versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runner.cli import opening, output, running, shapes
from runner.cli.options import RunRequest, taken
from runner.cli.verbs import run as run_verb

OFFLINE = "offline"
_BY_PROGRAM = frozenset(("exact", "session"))
_CHECKS = _BY_PROGRAM | {"model"}
"""That need answers, a session's calls among them."""


def answered(
    request: RunRequest, pair: shapes.VersionPair, settings: shapes.CompareSettings
) -> shapes.AnsweredPair | None:
    """None if no check needs them. With a model, the shell is asked in the same blocks."""
    from runner.authoring.versions import comparing, examining
    from runner.report.version_pairs import with_earlier

    wanted = {*(settings.only or _CHECKS)}
    program = (OFFLINE,) if _BY_PROGRAM & wanted else ()
    models = tuple(dict.fromkeys((*program, *(request.models if "model" in wanted else ()))))
    if not models:
        return None
    asking = _asking(request, pair, models)
    output.tell(f"asking {len(pair.scenarios)} questions with both, by {', '.join(models)}")
    store, earlier = asking.measured()
    run = asking.loaded(store)
    base_run = asking.loaded(earlier) if earlier else None
    # An earlier head's cells are in that run as well.
    ours = [it for it in asking.arms if it != pair.arms[1]]
    kept = [it for it in base_run.cells if it.cell.server in ours] if base_run else []
    if base_run is not None:
        base_run = replace(base_run, cells=tuple(kept))
        output.tell(f"{len(kept)} cells of the base were measured before, and are kept")
    recorded = examining.recorded_calls(earlier or store, pair.arms[0])
    whole = with_earlier(run, base_run)
    return comparing.AnsweredPair(run=whole, recorded=tuple(recorded), reused=len(kept))


def _asking(
    request: RunRequest, pair: shapes.VersionPair, models: tuple[str, ...]
) -> _VersionQuestions:
    from runner.authoring.versions import comparing

    words = taken(
        run_verb.Verb,
        request,
        models=models,
        scenarios=pair.scenarios,
        servers=pair.arms,
        name=request.name or comparing.run_name(pair, models, request.trials),
        gate="skip",
    )
    judge = opening.asked_judge(None, request.spending)
    subject = run_verb.subject_of(words, pair.checkout, judge)
    shell = ("shell",) if request.models else ()
    return _VersionQuestions(subject=subject, pair=pair, arms=(*shell, *pair.arms))


@dataclass(frozen=True, kw_only=True)
class _VersionQuestions:
    """One set of questions, put to both versions."""

    subject: run_verb.ScenarioSubject
    pair: shapes.VersionPair
    arms: Sequence[str]

    def measured(self) -> tuple[shapes.RunStore, shapes.RunStore | None]:
        """The run, and an earlier one that has the base's cells already, if there is one."""
        from runner.records.run_store import RunStore
        from runner.runs import prepare

        words = self.subject.request
        models, settings = running.open_models(words)
        caps = running.spending(words, models)
        checkout, store = self.pair.checkout, RunStore(self.pair.runs / words.name)
        prepared = prepare.prepare(checkout, self.pair.scenarios, self.arms)
        shown = self.pair.shown_name
        arms = {name: arm.called(shown) for name, arm in prepared.arms.items()}
        prepared = replace(prepared, models=settings, spending=caps, arms=arms)
        earlier = self._earlier(prepared, models, words.name)
        if earlier is not None:
            own = {self.pair.arms[1]: prepared.arms[self.pair.arms[1]]}
            prepared = replace(prepared, arms=own)
        running.measure_here(words, prepared, models, store, checkout)
        return store, earlier

    def _earlier(
        self, prepared: shapes.PreparedRun, models: Sequence[str], name: str
    ) -> shapes.RunStore | None:
        from runner.benchmarks import BENCHMARKS
        from runner.records.run_store import RunStore
        from runner.runs.earlier import earlier_run

        store = RunStore(self.pair.runs / name)
        cells = BENCHMARKS[prepared.benchmark].cells(prepared, models, self.subject.request.trials)
        head = self.pair.arms[1]
        if store.has_plan() and {it.id for it in store.plan().cells} == {it.id for it in cells}:
            return None
        return earlier_run(self.pair.runs, [it for it in cells if it.server != head], name)

    def loaded(self, store: shapes.RunStore) -> shapes.LoadedRun:
        """Scored by keys where every question has one."""
        from runner.benchmarks.scenarios.scenario_run import ScenarioRun

        subject = self.subject
        run = ScenarioRun(store=store, checkout=subject.checkout, asked=subject.asked)
        return run.scored(run.judge_anew()[1])
