"""Whatever a file holds, a reader reads it or refuses it with an error of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import Fault, Reader, faults, readers

INPUTS = 120
"""For each reader: about 4,000 in all. `just fuzz` takes 100,000."""
NAMES = (
    *("text of any file", "ground", "transcript", "recording", "differences"),
    *("plan", "result", "scorecard", "scenario", "rubric", "reference", "server"),
    *("server's packages", "addresses", "npm's addresses", "images lock", "repos lock", "recipe"),
    *("images in use", "anchors lock", "grades", "extraction", "grounding", "judge", "keywords"),
    *("rows", "command lines", "imported cell"),
)


@pytest.mark.parametrize("name", NAMES)
def test_no_mutated_file_raises_anything_but_our_own_errors(tmp_path: Path, name: str) -> None:
    found = list(faults(name, readers(tmp_path)[name], inputs=INPUTS, seed=1))
    assert [fault.site for fault in found] == []


def test_every_reader_takes_its_seeds_and_is_named_here(tmp_path: Path) -> None:
    every = readers(tmp_path)
    assert set(every) == set(NAMES)
    for reader in every.values():
        for seed in reader.seeds:
            reader.read(seed)


def test_the_hunt_tells_an_exception_that_is_not_ours(tmp_path: Path) -> None:
    careless = Reader(seeds=(b'{"a": 1}',), read=lambda data: data.decode("ascii"))
    found = list(faults("careless", careless, inputs=200, seed=1))
    assert found and all(isinstance(fault, Fault) for fault in found)
    assert {fault.site.split()[0] for fault in found} == {"UnicodeDecodeError"}
