"""What a run could find, before anything is spent, and what a smaller difference would take.

A server's differences from the shell vary between repositories, between scenarios of one, and
between trials. How much by each is read from earlier runs; the planned repositories, scenarios and
trials say how much of it is left in the mean.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from runner.records import Count, Record
from runner.report.clusters import Clusters
from runner.report.records import ClusterKind
from runner.scoring import statistics
from runner.scoring.statistics import ALPHA, VarianceSplit

Differences = Mapping[tuple[str, str], Sequence[float]]
"""(Repository, scenario) -> a server's fairness less the shell's, trial by trial."""

ASSUMED = VarianceSplit(repository=0.0025, scenario=0.0025, trial=0.005)
"""Where no earlier run shows it: 0.10 in all, half of it between trials."""
ASSUMED_IN_F1 = VarianceSplit(repository=0.01, scenario=0.08, trial=0.04)
"""The same of F1 over a question's places, which is often 0 or 1: 0.36 in all."""
ASSUMED_RANGE = (0.5, 1.5)
FEWEST_CLUSTERS = 3
"""Repositories (or scenarios, of one repository) that a spread is read from."""
CONFIDENCE = 0.9
MOST = 1_000
"""More repositories, scenarios or trials than that are not looked for."""


WayOf = Literal["repositories", "scenarios", "trials", "questions"]


class SpreadEstimate(Record):
    """What one trial's paired difference varies by, in standard deviations."""

    repository_sd: float
    scenario_sd: float | None
    """None if each repository had one: then it is in the one above."""
    trial_sd: float | None
    """None if nothing was repeated: then it is in the one above."""
    low: float
    """All together, at the ends of a 90 % interval; or what is assumed."""
    high: float
    basis: str


class Way(Record):
    """How to find a smaller difference: more of one thing."""

    of: WayOf
    """`scenarios`: in each repository. `questions`: groups of them, in the same repositories."""
    more: Count | None
    """With the likely spread; None: 1,000 more would not do."""
    at_worst: Count | None
    """With the highest spread."""
    cells: Count | None
    """That come on top, all arms and models."""
    usd: float | None

    usd_is_likely: bool
    """False: a ceiling."""

    def __str__(self) -> str:
        what = f"more {_NOUNS.get(self.of, self.of)}"
        if self.more is None:
            return f"{what} alone: never"
        worst = "never at worst" if self.at_worst is None else f"{self.at_worst} at worst"
        usd = "" if self.usd is None else f"${self.usd:,.2f}"
        if usd and not self.usd_is_likely:
            usd = f"at most {usd}"
        costs = ", ".join(filter(None, [f"{self.cells:,} more cells", usd]))
        return f"{self.more} {what} ({worst}): {costs}"


_NOUNS = {
    "scenarios": "scenarios in each repository",
    "questions": "groups of questions, for these repositories alone",
}


class ServerPower(Record):
    servers: tuple[str, ...]
    """That are measured alike."""
    clusters: Count
    """Repositories, or groups of questions, that they are measured in."""
    low: float | None
    """The difference in fairness that would be found 4 times in 5, if differences spread as little
    as they may; None if none could be told from a coin."""
    high: float | None
    """The same if they spread as much as they may."""
    ways: tuple[Way, ...]
    """To find `Power.detect`, the cheapest first; empty if it would be found at worst."""


class Power(Record):
    comparisons: Count
    """Servers × models; Holm's first level is 0.05 divided by it."""
    cluster: ClusterKind
    repositories: Count
    missing: Count
    """Repositories without which no sentence is about more than these."""
    least: Count
    """Clusters below which nothing can be told from a coin."""
    spread: SpreadEstimate
    detect: float
    servers: tuple[ServerPower, ...]
    figure: Literal["fairness", "F1"] = "fairness"
    where: str = " on these repositories"
    """How far a sentence would hold, where groups of questions are compared."""

    def lines(self) -> Iterator[str]:
        compared = f"{self.comparisons} comparison" + "s" * (self.comparisons > 1)
        yield (
            f"differences in {self.figure} that it would find 4 times in 5, at 5 % over {compared}:"
        )
        if self.missing:
            yield (
                "  none between servers across repositories: the run has "
                f"{self.repositories}, {self.repositories + self.missing} are the least, "
                f"{self.missing} missing"
            )
        for server in self.servers:
            yield f"  {', '.join(server.servers)}: {self._found(server)}"
            if server.ways:
                yield f"    to find {self.detect:g}, the cheapest first:"
            for way in server.ways:
                yield f"      {way}"
        spread = self.spread
        yield (
            f"  if one trial's differences spread by {spread.low:.3f} to {spread.high:.3f} "
            f"({spread.basis})"
        )

    def _found(self, server: ServerPower) -> str:
        clusters, where = f"{server.clusters} repositories", ""
        if self.cluster == "question":
            clusters, where = f"{server.clusters} groups of questions", self.where
        if server.low is None:
            return f"none{where}: of {clusters}, {self.least} are the least"
        return f"{server.low:.3f} to {server.high:.3f}{where}, from {clusters}"


# --- how differences spread -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DifferenceSpread:
    """What differences vary by, and how far from it the truth may lie."""

    split: VarianceSplit
    low: float
    """Factor of the standard deviation."""
    high: float
    basis: str

    def estimate(self) -> SpreadEstimate:
        split = self.split
        sd = math.sqrt(split.of_cluster(1, 1))
        return SpreadEstimate(
            repository_sd=math.sqrt(split.repository or 0.0),
            scenario_sd=None if split.scenario is None else math.sqrt(split.scenario),
            trial_sd=None if split.trial is None else math.sqrt(split.trial),
            low=sd * self.low,
            high=sd * self.high,
            basis=self.basis,
        )


def spread_of(
    earlier: Iterable[Differences], otherwise: VarianceSplit = ASSUMED
) -> DifferenceSpread:
    """`earlier`: of each arm of each run. Arms share scenarios: they count as one sample."""
    low, high = ASSUMED_RANGE
    of_f1 = "assumed of F1, a third of it between trials"
    basis = "assumed, half of it between trials" if otherwise is ASSUMED else of_f1
    assumed = DifferenceSpread(split=otherwise, low=low, high=high, basis=basis)
    known = [arm for arm in earlier if len(arm) > 1]
    scenarios = {place for arm in known for place in arm}
    repositories = {repository for repository, _ in scenarios}
    clusters = len(repositories) if len(repositories) > 1 else len(scenarios)
    if clusters < FEWEST_CLUSTERS:
        return assumed
    split, basis = _pooled(known), f"as {len(scenarios)} scenarios of earlier runs"
    if split.repository is None:
        # Taken for nothing, it would promise what one repository cannot know.
        split = replace(split, repository=split.scenario)
        basis += ", of one repository: as much between repositories is assumed"
    if split.trial is None:
        basis += ", none of them repeated"
    if not split.of_cluster(1, 1):
        return assumed
    low, high = _sd_factors(clusters - 1)
    return DifferenceSpread(split=split, low=low, high=high, basis=basis)


def _pooled(arms: Sequence[Differences]) -> VarianceSplit:
    """Each part's mean over the arms, weighted by its degrees of freedom."""
    sums: defaultdict[str, float] = defaultdict(float)
    weights: defaultdict[str, int] = defaultdict(int)
    for arm in arms:
        split = statistics.variance_split(arm)
        repositories = len({repository for repository, _ in arm})
        trials = sum(map(len, arm.values()))
        sizes = {"repository": 1, "scenario": repositories, "trial": len(arm)}
        counts = {"repository": repositories, "scenario": len(arm), "trial": trials}
        for part, size in sizes.items():
            variance = getattr(split, part)
            if variance is not None:
                weights[part] += counts[part] - size
                sums[part] += variance * (counts[part] - size)
    known = {part: sums[part] / weight for part, weight in weights.items()}
    return VarianceSplit(**{part: known.get(part) for part in ("repository", "scenario", "trial")})


def _sd_factors(freedom: int) -> tuple[float, float]:
    """Of a standard deviation with so many degrees of freedom: its 90 % interval, by chi-square."""
    # scipy.stats has chi2.ppf, the same to the last bit, and takes a second to load.
    from scipy.special import gammaincinv  # noqa: PLC0415 - other verbs would wait for it

    tails = [1 - (1 - CONFIDENCE) / 2, (1 - CONFIDENCE) / 2]
    low, high = (math.sqrt(freedom / (2 * float(gammaincinv(freedom / 2, tail)))) for tail in tails)
    return low, high


# --- what a design could find ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Design:
    """A server against the shell."""

    clusters: int
    scenarios: float
    """In each cluster; a harmonic mean."""
    trials: int

    @property
    def pairs(self) -> float:
        return self.clusters * self.scenarios * self.trials


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """What is to be compared."""

    clusters: Clusters
    """Of the scenarios that are measured at all."""
    measured: Mapping[str, Collection[str]]
    """Server -> the scenarios that it is measured on."""
    trials: int
    cells: int
    """Of all arms and models."""
    usd: float | None
    """What they are likely to cost, or at most."""
    usd_is_likely: bool

    def design(self, server: str, kind: ClusterKind) -> Design:
        measured = self.measured[server]
        if kind == "question":
            count = len(self.clusters.means(dict.fromkeys(measured, 0.0)))
            return Design(clusters=count, scenarios=len(measured) / count, trials=self.trials)
        topics = self.clusters.topics
        sizes = Counter(topics[name].repository for name in measured).values()
        scenarios = len(sizes) / sum(1 / size for size in sizes)
        return Design(clusters=len(sizes), scenarios=scenarios, trials=self.trials)


def power_of(planned: PlannedRun, spread: DifferenceSpread, detect: float) -> Power:
    clusters = planned.clusters
    repositories = len(clusters.repositories)
    fewest = statistics.least_clusters(clusters.comparisons)
    across = _Finder(planned=planned, kind="repository", spread=spread, least=fewest, detect=detect)
    here = across
    if clusters.kind == "question":
        of_questions = replace(spread, split=_of_questions(spread.split, repositories))
        least = clusters.least(clusters.comparisons)
        here = replace(across, kind="question", spread=of_questions, least=least)
    alike: defaultdict[tuple[Design, Design], list[str]] = defaultdict(list)
    for server in planned.measured:
        alike[across.design(server), here.design(server)].append(server)
    return Power(
        comparisons=clusters.comparisons,
        cluster=clusters.kind,
        repositories=repositories,
        missing=max(0, fewest - repositories),
        least=here.least,
        spread=spread.estimate(),
        detect=detect,
        servers=tuple(_server(across, here, names) for names in alike.values()),
        figure="F1" if clusters.by_keys else "fairness",
        where=clusters.where or " on these repositories",
    )


def _server(across: _Finder, here: _Finder, names: Sequence[str]) -> ServerPower:
    """Of servers that are measured alike."""
    design = here.design(names[0])
    smallest = here.smallest(design)
    low = None if smallest is None else smallest * here.spread.low
    high = None if smallest is None else smallest * here.spread.high
    ways: list[Way] = []
    if high is None or high > here.detect:
        ways = sorted(_ways(across, here, names[0]), key=_cells)
    return ServerPower(
        servers=tuple(names), clusters=design.clusters, low=low, high=high, ways=tuple(ways)
    )


def _cells(way: Way) -> float:
    return math.inf if way.cells is None else way.cells


def _ways(across: _Finder, here: _Finder, server: str) -> Iterator[Way]:
    yield across.way(server, "clusters", "repositories")
    if here is across:
        yield here.way(server, "scenarios", "scenarios")
    else:
        yield here.way(server, "clusters", "questions")
    if here.spread.split.trial is not None:
        yield here.way(server, "trials", "trials")


def _of_questions(split: VarianceSplit, repositories: int) -> VarianceSplit:
    """Where groups of questions are the clusters: what is between scenarios is between those."""
    between = split.repository if split.scenario is None else split.scenario
    if repositories > 1 and split.scenario is not None:
        between = (between or 0.0) + (split.repository or 0.0)
    return VarianceSplit(repository=between, scenario=0.0, trial=split.trial)


Part = Literal["clusters", "scenarios", "trials"]


@dataclass(frozen=True, kw_only=True)
class _Finder:
    """What designs find whose clusters are of one kind."""

    planned: PlannedRun
    kind: ClusterKind
    spread: DifferenceSpread
    least: int
    detect: float

    def design(self, server: str) -> Design:
        return self.planned.design(server, self.kind)

    def smallest(self, design: Design) -> float | None:
        """With the likely spread. None if no difference could be told from a coin."""
        if design.clusters < self.least:
            return None
        sd = math.sqrt(self.spread.split.of_cluster(design.scenarios, design.trials))
        level = ALPHA / self.planned.clusters.comparisons
        return statistics.smallest_difference(sd, design.clusters, level=level)

    def way(self, server: str, part: Part, called: WayOf) -> Way:
        design = self.design(server)
        more = self._needed(design, part, 1.0)
        cells = usd = None
        if more is not None:
            share = _grown(design, part, more).pairs / design.pairs - 1
            cells = math.ceil(round(share * self.planned.cells, 6))
            usd = None if self.planned.usd is None else share * self.planned.usd
        return Way(
            of=called,
            more=more,
            at_worst=self._needed(design, part, self.spread.high),
            cells=cells,
            usd=usd,
            usd_is_likely=self.planned.usd_is_likely,
        )

    def _needed(self, design: Design, part: Part, factor: float) -> int | None:
        """How much more of one part finds it, with so many times the likely spread."""

        def finds(more: int) -> bool:
            smallest = self.smallest(_grown(design, part, more))
            return smallest is not None and smallest * factor <= self.detect

        more = bisect_left(range(MOST + 1), x=True, key=finds)
        return None if more > MOST else more


def _grown(design: Design, part: Part, more: int) -> Design:
    return replace(design, **{part: getattr(design, part) + more})
