"""What an arm spent: the agent's tokens and seconds, the container's, and the server's texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runner import stats
from runner.report.records import Costs
from runner.report.view import ArmView, fairness_halves, fairness_of, fingerprints, trial_of
from runner.store import LoadedCell

CHARS_PER_TOKEN = 4


def costs(arm: ArmView, shell: ArmView | None) -> Costs:
    """Per measured cell, comparable or not: each of them was paid for."""
    efforts = [fairness.effort for fairness in fairness_halves(arm.measured)]
    results = [cell.result for cell in arm.measured if cell.result]
    times = [result.timings for result in results]
    tools = [fingerprint.tools for fingerprint in fingerprints(arm.measured) if fingerprint.tools]
    # Without this, the shell would show zeros, as if its server started in no time.
    served = results if tools else []
    schema_chars = max((shown.schema_chars for shown in tools), default=None)
    return Costs(
        input_tokens=_average_count(effort.input_tokens for effort in efforts),
        output_tokens=_average_count(effort.output_tokens for effort in efforts),
        tokens_estimated=any(effort.tokens_estimated for effort in efforts),
        tokens_vs_shell=_ratio(arm, shell, _tokens),
        agent_sec=_average(time.agent_sec for time in times),
        seconds_vs_shell=_ratio(arm, shell, _agent_sec),
        backoff_sec=_average(time.backoff_sec for time in times),
        create_sec=_average(time.create_sec for time in times),
        initialize_sec=_average(result.timings.initialize_sec for result in served),
        warm_up_sec=_average(result.timings.warm_up_sec for result in served),
        canary_sec=_average(result.timings.canary_sec for result in served),
        peak_memory_mb=_largest(result.peak_memory_mb for result in results),
        state_mb=_largest(result.state_mb for result in served),
        schema_chars=schema_chars,
        schema_tokens=None if schema_chars is None else round(schema_chars / CHARS_PER_TOKEN),
        instructions_chars=max((shown.instructions_chars for shown in tools), default=None),
    )


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


def _spent(arm: ArmView, cost_of: Callable[[LoadedCell], float | None]) -> dict[stats.Trial, float]:
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
    return fairness.effort.input_tokens + fairness.effort.output_tokens


def _agent_sec(cell: LoadedCell) -> float | None:
    return None if cell.result is None else cell.result.timings.agent_sec


# --- small ----------------------------------------------------------------------------------


def _average(values: Iterable[float]) -> float | None:
    figures = list(values)
    return round(stats.mean(figures), 2) if figures else None


def _average_count(values: Iterable[int]) -> int | None:
    figures = list(values)
    return round(stats.mean(figures)) if figures else None


def _largest(values: Iterable[float | None]) -> float | None:
    return max((round(value, 1) for value in values if value is not None), default=None)
