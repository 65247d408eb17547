"""One conversation is one count of new tokens, whatever cache served it and whoever bills it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from runner.agents.usage import UsageTotals, usage_of
from runner.protocols import Turn
from runner.records import COMPACTION, Budget, NewTokens, Scored, Usage
from runner.records.transcript_files import split
from runner.scoring.efficiency import efficiency
from tests.helpers import scenario

TURNS, FIRST, RESULT, WRITTEN = 12, 5_000, 4_600, 400
"""The first prompt with prompts and schemas; what a turn adds; what the model writes."""
GIVEN = [FIRST + turn * (RESULT + WRITTEN) for turn in range(TURNS)]
NEW = FIRST + (TURNS - 1) * RESULT + TURNS * WRITTEN
CACHES = ["whole", "beginning", "none", "lost in the middle"]


def turn_of(given: int, read: int, *, written: int = WRITTEN, dropped: int | None = None) -> Turn:
    return Turn(
        text="",
        calls=(),
        stop="tool_use",
        input_tokens=given - read,
        output_tokens=written,
        cache_read_tokens=read,
        dropped_tokens=dropped,
    )


def conversation(cache: str) -> Iterator[Turn]:
    for turn, given in enumerate(GIVEN):
        before = GIVEN[turn - 1] + WRITTEN if turn else 0
        served = {
            "whole": before,
            "beginning": min(before, 4_000),
            "none": 0,
            "lost in the middle": 0 if turn == 6 else before,
        }
        yield turn_of(given, served[cache])


def usages(turns: Iterator[Turn]) -> list[Usage]:
    return [usage_of(turn, 0, number, 1.0) for number, turn in enumerate(turns)]


def ends_at(cache: str, budget: Budget) -> int:
    """The turn after which nothing is left."""
    totals = UsageTotals()
    for number, turn in enumerate(conversation(cache)):
        totals.add_turn(turn, 0.0)
        over = totals.over(budget)
        if over is not None:
            assert over.kind == "out_of_tokens"
            return number
    raise AssertionError("the budget is larger than the conversation")


def test_the_same_twelve_turns_are_one_count_in_every_cache() -> None:
    billed = {
        cache: sum(turn.input_tokens + turn.output_tokens for turn in conversation(cache))
        for cache in CACHES
    }
    assert len(set(billed.values())) == len(CACHES)
    assert max(billed.values()) > 6 * min(billed.values())
    assert {NewTokens.of(usages(conversation(cache))) for cache in CACHES} == {NEW}


def test_a_budget_ends_at_the_same_turn_in_every_cache() -> None:
    budget = Budget(tokens=30_000, wall_sec=10**6, actions=10**6)
    assert {ends_at(cache, budget) for cache in CACHES} == {5}


def test_efficiency_is_the_same_in_every_cache_and_a_transcript_gives_what_the_cell_counted() -> (
    None
):
    asked = scenario("?", tokens=NEW * 2)
    found = set()
    for cache in CACHES:
        totals = UsageTotals()
        for turn in conversation(cache):
            totals.add_turn(turn, 1.0)
        _, _, effort = split(usages(conversation(cache)), asked)
        assert effort.new_tokens == totals.new_tokens.total
        score = efficiency(effort, asked.budget)
        assert isinstance(score, Scored)
        found.add(score)
    assert len(found) == 1


def test_a_servers_schemas_count_once() -> None:
    def of(schemas: int) -> int:
        return NewTokens.of(usages(turn_of(given + schemas, 0) for given in GIVEN))

    assert of(3_000) - of(0) == 3_000


def test_thinking_that_no_later_request_holds_hides_no_results() -> None:
    dropped, kept = [], []
    for turn in range(TURNS):
        # 300 of 400 tokens are thinking; one API drops it, the other is given it again.
        given = FIRST + turn * (RESULT + 100)
        dropped.append(turn_of(given, 0, dropped=300))
        kept.append(turn_of(GIVEN[turn], 0))
    assert NewTokens.of(usages(iter(dropped))) == NewTokens.of(usages(iter(kept))) == NEW


def test_a_conversation_that_shrinks_goes_on_from_there() -> None:
    turns = [turn_of(50_000, 0), turn_of(10_000, 0), turn_of(12_400, 0)]
    assert NewTokens.of(usages(iter(turns))) == 50_000 + 2_000 + 3 * WRITTEN


def test_a_turn_that_is_not_counted_takes_nothing_from_the_next_one() -> None:
    nothing = turn_of(0, 0, written=0)
    turns = [turn_of(5_000, 0), nothing, turn_of(10_000, 5_400)]
    assert NewTokens.of(usages(iter(turns))) == 5_000 + 4_600 + 2 * WRITTEN


def test_a_subagents_turns_are_a_conversation_of_their_own() -> None:
    own = usages(turn_of(given, 0) for given in (20_000, 25_000))
    beside = [
        usage.model_copy(update={"subagent": "one"})
        for usage in usages(turn_of(given, 0) for given in (3_000, 6_000))
    ]
    mixed = [own[0], *beside, own[1]]
    assert NewTokens.of(mixed) == NewTokens.of(own) + NewTokens.of(beside)


# --- cheats -------------------------------------------------------------------------------------


@pytest.mark.parametrize("claimed", [0, 10**9])
def test_what_a_model_claims_of_caches_hides_nothing_that_it_wrote(claimed: int) -> None:
    honest = list(conversation("none"))
    cheat = [replace(turn, input_tokens=0, cache_read_tokens=claimed) for turn in honest]
    counted = NewTokens.of(usages(iter(cheat)))
    assert counted >= TURNS * WRITTEN
    assert counted >= claimed


def test_a_huge_claim_at_first_costs_more_than_it_hides() -> None:
    first, *rest = conversation("whole")
    cheat = [replace(first, cache_read_tokens=10**6), *rest]
    assert NewTokens.of(usages(iter(cheat))) > 10**6


def test_claims_that_rise_and_fall_only_add() -> None:
    falls = [turn_of(given if place % 2 else 1, 0) for place, given in enumerate(GIVEN)]
    assert NewTokens.of(usages(iter(falls))) >= NEW


def test_claiming_that_nothing_was_dropped_is_never_below_the_context_at_the_end() -> None:
    for cache in CACHES:
        turns = usages(conversation(cache))
        longest = max(turn.input_tokens + turn.cache_read_tokens for turn in turns)
        assert NewTokens.of(turns) >= longest + WRITTEN


def test_what_asks_for_a_summary_holds_the_conversation_once_more_and_counts_what_is_new() -> None:
    def taken(given: int, written: int, whose: str | None = None) -> Usage:
        usage = usage_of(turn_of(given, 0, written=written), 0, 0, 1.0)
        return usage.model_copy(update={"subagent": whose})

    before, summary, after = taken(50_000, 400), taken(51_000, 900, COMPACTION), taken(3_000, 100)
    assert NewTokens.of([before, summary, after]) == 50_400 + (600 + 900) + 100
    # Work that calls itself a summary is no cheaper than any other.
    grown = taken(80_000, 900, COMPACTION)
    assert NewTokens.of([before, grown, after]) == 50_400 + (29_600 + 900) + 100
