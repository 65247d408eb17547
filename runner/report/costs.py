"""What an arm spent: the agent's tokens and seconds, the container's, and the server's texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from runner.records import Effort, Price, TokenBreakdown, Usage
from runner.records.run_store import LoadedCell, LostAttempt
from runner.report.records import Costs, LostTurns
from runner.report.view import (
    ArmView,
    RunView,
    fairness_halves,
    fairness_of,
    fingerprints,
    trial_of,
)
from runner.scoring import statistics
from runner.support.token_estimate import estimated_tokens

T = TypeVar("T")


def costs(arm: ArmView, shell: ArmView | None, price: Price | None = None) -> Costs:
    """Per paired cell, comparable or not: what has no counterpart costs beside nothing."""
    efforts = [fairness.effort for fairness in fairness_halves(arm.paired)]
    results = [cell.result for cell in arm.paired if cell.result]
    times = [result.timings for result in results if result.timings]
    tools = [fingerprint.tools for fingerprint in fingerprints(arm.paired) if fingerprint.tools]
    # Without this, the shell would show zeros, as if its server started in no time.
    served = times if tools else []
    lost = list(_lost(arm.cells))
    schema_chars = max((shown.schema_chars for shown in tools), default=None)
    return Costs(
        input_tokens=_average_count(efforts, lambda effort: effort.input_tokens),
        output_tokens=_average_count(efforts, lambda effort: effort.output_tokens),
        cache_read_tokens=_average_count(efforts, lambda effort: effort.cache_read_tokens),
        cache_write_tokens=_average_count(efforts, lambda effort: effort.cache_write_tokens),
        new_tokens=_average_count(_known(effort.new_tokens for effort in efforts), round),
        all_tokens=_average_count(efforts, _all_tokens),
        context_tokens=_average_count(efforts, lambda effort: effort.context_tokens),
        usd=_usd(efforts, price),
        lost_tokens=sum(usage.input_tokens + usage.output_tokens for usage in lost),
        lost_usd=None if price is None else round(sum(map(price.cost_usd, lost)), 4),
        retries=sum(effort.retries for effort in efforts),
        malformed=sum(effort.malformed for effort in efforts),
        phases=_phases(efforts),
        tokens_estimated=any(effort.tokens_estimated for effort in efforts),
        tokens_vs_shell=_ratio(arm, shell, _tokens),
        agent_sec=_average(_known(map(_agent_sec, arm.paired)), lambda sec: sec),
        seconds_vs_shell=_ratio(arm, shell, _agent_sec),
        backoff_sec=_average(times, lambda time: time.backoff_sec),
        queued_sec=_average(efforts, lambda effort: effort.queued_sec),
        create_sec=_average(times, lambda time: time.create_sec),
        initialize_sec=_average(served, lambda time: time.initialize_sec),
        warm_up_sec=_average(served, lambda time: time.warm_up_sec),
        canary_sec=_average(served, lambda time: time.canary_sec),
        peak_memory_mb=_largest(results, lambda result: result.peak_memory_mb),
        state_mb=_largest(results if tools else [], lambda result: result.state_mb),
        schema_chars=schema_chars,
        schema_tokens=None if schema_chars is None else estimated_tokens(schema_chars),
        instructions_chars=max((shown.instructions_chars for shown in tools), default=None),
    )


def _lost(cells: Iterable[LoadedCell]) -> Iterator[Usage]:
    for cell in cells:
        for attempt in cell.lost:
            yield from attempt.turns


def lost_turns(view: RunView, prices: Mapping[str, Price]) -> Iterator[LostTurns]:
    """What attempts cost that are in no figure, by model and by what ended them."""
    lost: dict[tuple[str, bool], list[LostAttempt]] = {}
    for cell in view.cells:
        for attempt in cell.lost:
            lost.setdefault((cell.cell.model, attempt.cut), []).append(attempt)
    for (model, cut), attempts in lost.items():
        yield _lost_turns(model, attempts, prices.get(model), cut=cut)


def _lost_turns(
    model: str, attempts: Sequence[LostAttempt], price: Price | None, *, cut: bool
) -> LostTurns:
    turns = [usage for attempt in attempts for usage in attempt.turns]
    return LostTurns(
        model=model,
        why="cut" if cut else "broken",
        attempts=len(attempts),
        input_tokens=sum(usage.input_tokens for usage in turns),
        cache_read_tokens=sum(usage.cache_read_tokens for usage in turns),
        output_tokens=sum(usage.output_tokens for usage in turns),
        usd=None if price is None else round(sum(map(price.cost_usd, turns)), 4),
    )


def _all_tokens(effort: Effort) -> int:
    return effort.input_tokens + effort.cache_read_tokens + effort.output_tokens


def _usd(efforts: Sequence[Effort], price: Price | None) -> float | None:
    if price is None or not efforts:
        return None
    return round(statistics.mean([price.cost_usd(effort) for effort in efforts]), 4)


def _phases(efforts: Sequence[Effort]) -> TokenBreakdown | None:
    """Means per cell; None if a cell is of a version that did not count them."""
    counted = [effort.phases for effort in efforts if effort.phases]
    if not counted or len(counted) < len(efforts):
        return None
    means = {}
    for name in TokenBreakdown.model_fields:
        if name != "estimated":
            means[name] = round(statistics.mean([getattr(phases, name) for phases in counted]))
    return TokenBreakdown(estimated=any(phases.estimated for phases in counted), **means)


# --- against the shell ----------------------------------------------------------------------


def _ratio(
    arm: ArmView, shell: ArmView | None, cost_of: Callable[[LoadedCell], float | None]
) -> float | None:
    """The sum over the trials that both arms have, the arm's over the shell's."""
    if shell is None or arm.is_shell:
        return None
    baseline, own = _spent(shell, cost_of), _spent(arm, cost_of)
    shared = baseline.keys() & own.keys()
    total = sum(baseline[trial] for trial in shared)
    if not total:
        return None
    return round(sum(own[trial] for trial in shared) / total, 2)


def _spent(
    arm: ArmView, cost_of: Callable[[LoadedCell], float | None]
) -> dict[statistics.Trial, float]:
    spent = {}
    for cell in arm.usable:
        cost = cost_of(cell)
        if cost is not None:
            spent[trial_of(cell)] = cost
    return spent


def _tokens(cell: LoadedCell) -> float | None:
    fairness = fairness_of(cell)
    if fairness is None:
        return None
    return fairness.effort.new_tokens


def _agent_sec(cell: LoadedCell) -> float | None:
    """Of a cell that ran elsewhere: what its harness says."""
    if cell.result is not None and cell.result.timings is not None:
        return cell.result.timings.agent_sec
    fairness = fairness_of(cell)
    return None if fairness is None else fairness.effort.agent_sec


# --- small ----------------------------------------------------------------------------------


def _known(figures: Iterable[float | None]) -> list[float]:
    return [figure for figure in figures if figure is not None]


def _average(items: Iterable[T], cost_of: Callable[[T], float]) -> float | None:
    figures = list(map(cost_of, items))
    if not figures:
        return None
    return round(statistics.mean(figures), 2)


def _average_count(items: Iterable[T], count_of: Callable[[T], int]) -> int | None:
    figures = list(map(count_of, items))
    if not figures:
        return None
    return round(statistics.mean(figures))


def _largest(items: Iterable[T], size_of: Callable[[T], float | None]) -> float | None:
    sizes = [size for size in map(size_of, items) if size is not None]
    if not sizes:
        return None
    return round(max(sizes), 1)
