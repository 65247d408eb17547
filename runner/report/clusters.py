"""What a run's means are over: repositories, or the questions of too few of them.

Questions about one repository share its code, its size and what the model knows of it by heart:
their differences go together, and counted one by one they are found different three times too
often (docs/method.md, `just simulate`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from runner.records import ExactKind, GitSource, Scenario, Source
from runner.records.repositories import LOCAL_SCHEME
from runner.report.records import ClusterKind, Sampled
from runner.scoring import statistics

LEAST_QUESTIONS = 12
"""Groups of questions that a sentence about a few repositories needs."""


@dataclass(frozen=True, kw_only=True)
class Topic:
    """What a scenario asks about."""

    repository: str
    """Its name; another version or another source of it is the same repository."""
    files: frozenset[str] = frozenset()
    """Paths that an answer has to cite. Two scenarios that share one are of one group."""
    asks: ExactKind | None = None
    """Of a question with a key."""
    grep_f1: float | None = None
    """What a text search alone got for it."""


def topics_of(scenarios: Mapping[str, Scenario]) -> dict[str, Topic]:
    return {name: _topic(scenario) for name, scenario in scenarios.items()}


def _topic(scenario: Scenario) -> Topic:
    places = [place for step in scenario.steps for place in step.must_cite]
    return Topic(
        repository=repository_name(scenario.repository),
        files=frozenset(place.path for place in places),
        asks=scenario.asks,
        grep_f1=scenario.grep_f1,
    )


def repository_name(source: Source) -> str:
    """`flask` of its package and of its git repository: they hold the same code."""
    name = source.url.removesuffix("/") if isinstance(source, GitSource) else source.name
    return re.sub(r"[-_.]+", "-", PurePosixPath(name).name.removesuffix(".git").lower())


def named(repository: str) -> str:
    """As a sentence has it; a folder that was given no name by its owner has none here either."""
    name = repository.removeprefix(LOCAL_SCHEME)
    return "this repository" if re.fullmatch(r"(own(-\d+)?)?|[0-9a-f]{40}", name) else name


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """The clusters of a run's planned scenarios."""

    topics: Mapping[str, Topic]
    """Of every planned scenario."""
    comparisons: int = 1
    """Arms with a server, over all models."""

    @cached_property
    def repositories(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.repository for one in self.topics.values()))

    @cached_property
    def kind(self) -> ClusterKind:
        """Fixed by the plan: chosen by what was measured, a result could choose it."""
        if len(self.repositories) >= statistics.least_clusters(self.comparisons):
            return "repository"
        return "question"

    @property
    def by_keys(self) -> bool:
        """Every question has a key: the figure to compare is F1, and nobody judged it."""
        asks = [topic.asks for topic in self.topics.values()]
        return bool(asks) and None not in asks

    def least(self, comparisons: int) -> int:
        """Clusters below which nothing can be said."""
        least = statistics.least_clusters(comparisons)
        return least if self.kind == "repository" else max(least, LEAST_QUESTIONS)

    @property
    def sampled(self) -> Sampled:
        return Sampled(
            cluster=self.kind,
            repositories=len(self.repositories),
            questions=len(set(self._groups.values())),
            least=self.least(self.comparisons),
            comparisons=self.comparisons,
        )

    @property
    def where(self) -> str:
        """How far a sentence holds, as its end; empty if repositories were sampled."""
        if self.kind == "repository":
            return ""
        if len(self.repositories) == 1:
            return f" on {named(self.repositories[0])}"
        return f" on these {len(self.repositories)} repositories"

    def means(self, by_scenario: Mapping[str, float]) -> tuple[float, ...]:
        """One figure a cluster, each the mean of its scenarios."""
        inside: dict[str, list[float]] = {}
        for scenario, figure in by_scenario.items():
            inside.setdefault(self._of[scenario], []).append(figure)
        return tuple(map(statistics.mean, inside.values()))

    @cached_property
    def _of(self) -> Mapping[str, str]:
        """Scenario -> its cluster."""
        if self.kind == "repository":
            return {name: topic.repository for name, topic in self.topics.items()}
        return self._groups

    @cached_property
    def _groups(self) -> Mapping[str, str]:
        """Scenario -> the group of those that share a file with it, over however many between."""
        groups: list[tuple[list[str], set[tuple[str, str]]]] = []
        for name, topic in self.topics.items():
            names, files = [name], {(topic.repository, path) for path in topic.files}
            apart = []
            for group in groups:
                if group[1].isdisjoint(files):
                    apart.append(group)
                else:
                    names, files = group[0] + names, group[1] | files
            groups = [*apart, (names, files)]
        return {name: names[0] for names, _ in groups for name in names}
