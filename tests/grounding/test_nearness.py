"""What is near cited lines, and how far the nearest is."""

from __future__ import annotations

import itertools

from runner.grounding.line_ranges import LineRanges, points
from runner.grounding.nearness import gap, kind_near, measure, smallest
from runner.grounding.outlines import outline_of
from runner.grounding.pointing import WIDE_LINES
from runner.grounding.symbols import SourceFile

PYTHON = (
    '''
class Shop:
    """Opens, and is called a shop."""

    def open(self):
        return self.door

    def close(self):
        for _ in range(3):
            self.lock()
        return self.open()


def lock(shop):
    # open and close
    return Shop(shop)
'''
    + "\n" * (2 * WIDE_LINES)
)
BROKEN = "def open(:\n" + "x = (open\n" * 20 + "\n" * 30 + "def close():\n    pass\n"
TEXT = "open\n" * 3 + "\n" * 40 + "close\n"
SYMBOLS = ("open", "Shop.open", "close", "lock", "Shop", "door", "Zork.open", "zork")


def _file(path: str, text: str) -> SourceFile:
    source = text.encode()
    return SourceFile(path, source, lambda: outline_of(path, source, "", None))


def test_the_kind_of_what_is_near_is_the_one_that_is_measured() -> None:
    found = set()
    for path, text in (("a.py", PYTHON), ("b.py", BROKEN), ("c.txt", TEXT)):
        file = _file(path, text)
        for symbol, start, width in itertools.product(SYMBOLS, range(1, 60), (0, 7, WIDE_LINES)):
            lines = start, start + width
            match = measure(file, symbol, lines).match()
            assert kind_near(file, symbol, lines) == (match.kind if match else None)
            found.add(match.kind if match else None)
    assert found == {"definition", "use", "span", "text", None}


def test_the_nearest_of_several_lines_or_intervals_is_found_wherever_one_looks() -> None:
    some = [(3, 4), (4, 30), (9, 10), (40, 40), (41, 47)]
    for known in (some, some[:1], [(line, line) for line in (5, 6, 20)], []):
        for start, end in itertools.combinations_with_replacement(range(1, 60), 2):
            nearest = smallest(gap((start, end), one) for one in known)
            assert LineRanges(known).gap_to((start, end)) == nearest
    assert points([20, 5]).gap_to((7, 9)) == 2
