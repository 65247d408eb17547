"""Stands in for what runner/scoring/statistics.py and runner/report/clusters.py will hold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from runner.records import GitSource, Scenario, Source
from runner.scoring.statistics import SEED, Trial, mean, repeatability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ClusterKind = Literal["repository", "question"]
ALPHA = 0.05
POWER = 0.8
MOST_FLIPPED = 12
_DRAWS = 4_000
LEAST_QUESTIONS = 12


def trial_differences(
    baseline: Mapping[Trial, float], arm: Mapping[Trial, float]
) -> dict[Trial, float]:
    """arm - baseline, of the trials that both have."""
    return {trial: arm[trial] - baseline[trial] for trial in arm if trial in baseline}


def least_clusters(comparisons: int = 1) -> int:
    """Fewer could not tell a difference from a coin, whatever they show.

    If all n point one way, the two-sided sign-flip test gives p = 2^(1-n); by Holm the smallest of
    m has to stay under 0.05 / m: 6, 7, 7, 8 for m = 1, 2, 3, 5. Raises ValueError for m below 1.
    """
    if comparisons < 1:
        raise ValueError(f"{comparisons} comparisons need no clusters")
    return 1 + math.ceil(math.log2(comparisons / ALPHA))


def _subset_means(figures: NDArray[np.float64]) -> NDArray[np.float64]:
    """`figures`: (…, n). (…, 2^n - 1): of each subset but the empty one."""
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    n = figures.shape[-1]
    members = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    means: NDArray[np.float64] = figures @ members.T / members.sum(axis=1)
    return means


def smallest_difference(
    sd: float, clusters: int, *, level: float = ALPHA, power: float = POWER
) -> float | None:
    """The true difference that so many clusters call different with that power, two-sided.

    `sd` is of one cluster's difference; normal. Up to 12 clusters drawn, with one seed, since the
    sign-flip test has no formula for it; beyond, by Student's non-central t. None where no
    difference could be found at that level.
    """
    found = _smallest_effect(clusters, level, power)
    return None if found is None else found * sd


@cache
def _smallest_effect(clusters: int, level: float, power: float) -> float | None:
    """In standard deviations of one cluster."""
    from scipy import optimize, stats  # noqa: PLC0415 - see the module's docstring

    if clusters > MOST_FLIPPED:
        freedom = clusters - 1
        beyond = float(stats.t.ppf(1 - level / 2, freedom))

        def missing(effect: float) -> float:
            return power - float(stats.nct.sf(beyond, freedom, effect * math.sqrt(clusters)))

        return float(optimize.brentq(missing, 0.0, 100.0))
    cut = math.floor(level / 2 * 2**clusters + 1e-9)
    return None if cut < 1 else _drawn_effect(clusters, cut, power)


def _drawn_effect(clusters: int, cut: int, power: float) -> float:
    """What has to be added to normal figures for the interval's lower end to pass 0."""
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    generator = np.random.Generator(np.random.PCG64(SEED))
    lows = []
    for _ in range(_DRAWS // 100):
        means = _subset_means(generator.normal(size=(100, clusters)))
        lows.append(np.partition(means, cut - 1, axis=1)[:, cut - 1])
    return float(-np.quantile(np.concatenate(lows), 1 - power))


@dataclass(frozen=True, kw_only=True)
class VarianceSplit:
    """Variances of one paired difference, by what it varies with."""

    repository: float | None
    """Between repositories; None if there was one."""
    scenario: float | None
    """Between scenarios of a repository; None if each has one: then it is in `repository`."""
    trial: float | None
    """Between trials of a scenario; None if nothing was repeated: then it is in the one above."""

    def of_cluster(self, scenarios: float, trials: float) -> float:
        """Of a repository's mean difference over so many scenarios of so many trials."""
        questions = ((self.scenario or 0.0) + (self.trial or 0.0) / trials) / scenarios
        return (self.repository or 0.0) + questions

    def trial_share(self, scenarios: float, trials: float) -> float | None:
        """Of that variance, what ever more trials would take away; None if nothing is known."""
        whole = self.of_cluster(scenarios, trials)
        if self.trial is None or not whole:
            return None
        return self.trial / trials / scenarios / whole


def variance_split(
    differences: Mapping[tuple[str, str], Sequence[float]],
) -> VarianceSplit | None:
    """(Repository, scenario) -> its trials' differences. None with fewer than two scenarios.

    Nested analysis of variance by the method of moments, with harmonic mean sizes; below 0 is 0.
    Source: Searle, Casella, McCulloch 1992, Variance Components, chapter 3.
    """
    if len(differences) < 2:
        return None
    means: dict[str, list[float]] = {}
    for (name, _), trials in differences.items():
        means.setdefault(name, []).append(mean(trials))
    trial = _variance(differences.values())
    from_trials = 0.0 if trial is None else trial / _harmonic_size(differences.values())
    within = _variance(means.values())
    scenario = None if within is None else max(0.0, within - from_trials)
    below = from_trials if within is None else within / _harmonic_size(means.values())
    between = _variance([[mean(inside) for inside in means.values()]])
    repository = None if between is None else max(0.0, between - below)
    return VarianceSplit(repository=repository, scenario=scenario, trial=trial)


def _variance(groups: Iterable[Sequence[float]]) -> float | None:
    """Pooled within groups; None if none has two members."""
    spread = repeatability(groups)
    return None if spread is None else spread.sd**2


def _harmonic_size(groups: Iterable[Sequence[float]]) -> float:
    return 1 / mean(1 / len(group) for group in groups)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a scenario asks about."""

    repository: str
    """Its name; another version or another source of it is the same repository."""
    files: frozenset[str] = frozenset()
    """Paths that an answer has to cite. Two scenarios that share one are of one group."""


def subjects_of(scenarios: Mapping[str, Scenario]) -> dict[str, Subject]:
    return {name: _subject(scenario) for name, scenario in scenarios.items()}


def _subject(scenario: Scenario) -> Subject:
    places = [place for step in scenario.steps for place in step.must_cite]
    return Subject(
        repository=repository_name(scenario.repository),
        files=frozenset(place.path for place in places),
    )


def repository_name(source: Source) -> str:
    """`flask` of its package and of its git repository: they hold the same code."""
    name = source.url.removesuffix("/") if isinstance(source, GitSource) else source.name
    return re.sub(r"[-_.]+", "-", PurePosixPath(name).name.removesuffix(".git").lower())


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """The clusters of a run's planned scenarios."""

    subjects: Mapping[str, Subject]
    """Of every planned scenario."""
    comparisons: int = 1
    """Arms with a server, over all models."""

    @cached_property
    def repositories(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.repository for one in self.subjects.values()))

    @cached_property
    def kind(self) -> ClusterKind:
        """Fixed by the plan: chosen by what was measured, a result could choose it."""
        if len(self.repositories) >= least_clusters(self.comparisons):
            return "repository"
        return "question"

    def least(self, comparisons: int) -> int:
        """Clusters below which nothing can be said."""
        least = least_clusters(comparisons)
        return least if self.kind == "repository" else max(least, LEAST_QUESTIONS)

    @property
    def where(self) -> str:
        """How far a sentence holds, as its end; empty if repositories were sampled."""
        if self.kind == "repository":
            return ""
        if len(self.repositories) == 1:
            return " on this repository"
        return f" on these {len(self.repositories)} repositories"

    def means(self, by_scenario: Mapping[str, float]) -> tuple[float, ...]:
        """One figure a cluster, each the mean of its scenarios."""
        inside: dict[str, list[float]] = {}
        for scenario, figure in by_scenario.items():
            inside.setdefault(self._of[scenario], []).append(figure)
        return tuple(map(mean, inside.values()))

    @cached_property
    def _of(self) -> Mapping[str, str]:
        """Scenario -> its cluster."""
        if self.kind == "repository":
            return {name: subject.repository for name, subject in self.subjects.items()}
        return _groups(self.subjects)


def _groups(subjects: Mapping[str, Subject]) -> dict[str, str]:
    """Scenario -> the group of those that share a file with it, over however many between."""
    groups: list[tuple[list[str], set[tuple[str, str]]]] = []
    for name, subject in subjects.items():
        names, files = [name], {(subject.repository, path) for path in subject.files}
        apart = []
        for group in groups:
            if group[1].isdisjoint(files):
                apart.append(group)
            else:
                names, files = group[0] + names, group[1] | files
        groups = [*apart, (names, files)]
    return {name: names[0] for names, _ in groups for name in names}
