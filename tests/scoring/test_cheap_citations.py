"""Citations that nobody had to read the code for earn less than half of an honest answer."""

from __future__ import annotations

import pytest

from runner.support.errors import FairtrialError
from tests.scoring.cheap_citations import CHEATS, ROOT, Measured, measured

SCENARIOS = sorted(path.parent.parent.name for path in ROOT.glob("scenarios/*/*/reference/1.md"))


@pytest.fixture(scope="module", params=SCENARIOS)
def one(request: pytest.FixtureRequest) -> Measured:
    try:
        return measured(request.param)
    except FairtrialError as error:
        pytest.skip(f"a repository of the shipped scenarios is out of reach: {error}")


def test_a_reference_is_charged_next_to_nothing(one: Measured) -> None:
    assert one.honest >= 0.95


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_earns_less_than_half_of_the_reference(one: Measured, cheat: str) -> None:
    assert one.cheats[cheat] < one.half
