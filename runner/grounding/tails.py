"""Which file a shortened path means, by the paths that the answer itself writes in full.

`mod.rs:217` is a tail of twenty files. After `axum/src/handler/mod.rs:208` it means that one.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice

from runner.grounding.commit_files import PathIndex
from runner.grounding.mentions import Mention

_FARTHEST = 200
"""Full paths looked at to each side. Without a bound, a text of nothing but paths would take
quadratic time."""


class FullPaths:
    """The files that an answer names so that exactly one is meant, in its order."""

    def __init__(self, steps: Iterable[Iterable[Mention]], index: PathIndex) -> None:
        self._steps = steps
        self._index = index

    @cached_property
    def _paths(self) -> dict[int, str]:
        """By the place of the mention. Most answers shorten no path that several files end in."""
        paths: dict[int, str] = {}
        for place, mention in enumerate(chain.from_iterable(self._steps)):
            resolution, path = self._index.resolve(mention.path)
            if resolution in ("exact", "suffix"):
                paths[place] = path
        return paths

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """By the file's name: which mentions name one of that name in full."""
        places: dict[str, list[int]] = {}
        for place, path in self._paths.items():
            places.setdefault(_name(path), []).append(place)
        return places

    def meant_by(self, tail: str, place: int) -> list[str]:
        """The files of that tail that the answer names: before a mention, the latest first, then
        behind it.
        """
        places = self._places.get(_name(tail), [])
        at = bisect.bisect_left(places, place)
        before = reversed(places[max(0, at - _FARTHEST) : at])
        near = chain(before, islice(places, at, at + _FARTHEST))
        return list(dict.fromkeys(self._ending_in(tail, near)))

    def _ending_in(self, tail: str, places: Iterable[int]) -> Iterator[str]:
        end = "/" + self._index.normalise(tail)
        for place in places:
            if self._paths[place].endswith(end):
                yield self._paths[place]


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
