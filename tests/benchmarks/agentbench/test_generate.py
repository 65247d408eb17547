"""What a model writes, read: usable, asked for once more, or recorded as a failure."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from runner.agents.spending import JudgeBudget
from runner.benchmarks.agentbench.queries import CATEGORIES, Category
from runner.benchmarks.agentbench.writing.drafts import DraftFailure, QueryDraft
from runner.benchmarks.agentbench.writing.generate import (
    OFFERED,
    NoScene,
    components_request,
    generate,
    query_request,
    read_components,
    read_query,
    servers_for,
)
from runner.benchmarks.agentbench.writing.steering import DOMAINS, aim_of, planned_text
from runner.benchmarks.agentbench.writing.writer import Writer
from runner.protocols import Turn
from runner.records import Price
from runner.scoring.judges.form import BrokenReply
from runner.support.errors import SpendingCap
from tests.benchmarks.agentbench.drafting import CHAIN, MESSAGE, PLAN, wanted
from tests.helpers import Scripted, says


class Heard(Scripted):
    """Keeps what it was asked."""

    def __init__(self, *replies: str) -> None:
        super().__init__(*map(says, replies))
        self.texts: list[str] = []

    async def turn(self, system: str, conversation: Any, tools: Any, *, timeout_sec: float) -> Turn:
        self.texts.append(conversation[-1].text)
        return await super().turn(system, conversation, tools, timeout_sec=timeout_sec)


def made(*replies: str) -> tuple[QueryDraft | DraftFailure, list[str]]:
    model = Heard(*replies)
    result = asyncio.run(generate(Writer(model=model), wanted()))
    assert model.turns == [], "a request was left unmade"
    return result, model.texts


def test_a_draft_is_made_of_a_plan_and_a_message() -> None:
    draft, asked = made(PLAN, f'"{MESSAGE}"\n')
    assert isinstance(draft, QueryDraft)
    assert draft.tools == ("unit_calc/convert_length", "price_list/total_price")
    assert (draft.query, draft.profile) == (MESSAGE, "A dike warden, curt.")
    assert draft.stage == "drafted"
    assert draft.id.startswith("multi-sequential-")
    assert "<category>\nmulti-server-sequential-call\n</category>" in asked[0]
    assert "- day_rate: does day_rate" in asked[0]
    assert "<objective>\nWhat lining it costs.\n</objective>" in asked[1]


def test_servers_with_nothing_for_the_category_are_recorded_and_asked_no_further() -> None:
    failure, asked = made("Let me see.\n<no_scene>\nNothing here depends.\n</no_scene>")
    assert isinstance(failure, DraftFailure)
    assert (failure.kind, failure.part) == ("no_scene", "components")
    assert failure.problem == "Nothing here depends."
    assert len(asked) == 1


def test_a_broken_plan_is_asked_for_once_more_and_told_why() -> None:
    draft, asked = made("What a lovely task!", PLAN, MESSAGE)
    assert isinstance(draft, QueryDraft)
    assert "could not be used: there is no <selected_tools>" in asked[1]


def test_what_is_broken_twice_is_recorded_with_what_was_said() -> None:
    failure, _ = made("What a lovely task!", "Indeed, lovely.")
    assert isinstance(failure, DraftFailure)
    assert (failure.kind, failure.part, failure.reply) == (
        "broken",
        "components",
        "Indeed, lovely.",
    )
    told = "Use convert_length on 137.5 m."
    failure, asked = made(PLAN, told, told)
    assert isinstance(failure, DraftFailure)
    assert (failure.kind, failure.part, failure.reply) == ("broken", "query", told)
    assert "it names 'convert_length'" in asked[2]


def test_a_reply_that_was_cut_off_is_broken() -> None:
    cut = Scripted(Turn(text=PLAN, calls=(), stop="max_tokens", input_tokens=1, output_tokens=1))
    cut.turns *= 2
    failure = asyncio.run(generate(Writer(model=cut), wanted()))
    assert isinstance(failure, DraftFailure)
    assert "cut off" in failure.problem


def test_nothing_is_asked_past_the_cap() -> None:
    price = Price(input=1e6, cache_write=0, cache_read=0, output=0)
    purse = JudgeBudget(priced={"scripted": price}, left_usd=5.0)
    model = Heard(PLAN, MESSAGE)
    with pytest.raises(SpendingCap):
        asyncio.run(generate(Writer(model=model, purse=purse), wanted()))
    assert len(model.texts) == 1


BROKEN: list[tuple[Category, str, str, str]] = [
    (CHAIN, "price_list/total_price", "price_list/sum", "there is no tool price_list/sum"),
    (CHAIN, "price_list/total_price", "unit_calc/convert_mass", "tools are of one server"),
    ("single-server-single-call", "", "", "2 tools are selected"),
    ("single-server-sequential-call", "", "", "of 2 servers"),
    (CHAIN, "<scenario>", "<scene>", "there is no <scenario>"),
    (CHAIN, "unit_calc/convert_length: the", "convert_length, the", "takes two or more"),
]


@pytest.mark.parametrize(("category", "old", "new", "says"), BROKEN)
def test_a_plan_that_does_not_fit_is_broken(
    category: Category, old: str, new: str, says: str
) -> None:
    with pytest.raises(BrokenReply, match=says):
        read_components(PLAN.replace(old, new), wanted(category))


def test_the_last_of_a_part_that_is_written_twice_counts() -> None:
    aloud = "I could use\n<selected_tools>\nnothing: yet\n</selected_tools>\nNo, better:\n" + PLAN
    assert len(read_components(aloud, wanted()).tools) == 2


def test_a_plan_that_also_says_no_scene_is_a_plan_and_half_of_one_is_broken() -> None:
    aloud = "<no_scene>at first I thought so</no_scene>\n"
    assert read_components(aloud + PLAN, wanted()).tools
    with pytest.raises(BrokenReply):
        read_components(aloud + PLAN.partition("<scenario>")[0], wanted())
    with pytest.raises(NoScene):
        read_components(aloud, wanted())


def test_a_message_that_is_there_already_is_asked_for_anew() -> None:
    model = Heard(PLAN, MESSAGE, f"{MESSAGE} Quick, please.")
    taken = replace(wanted(), taken=frozenset({MESSAGE}))
    draft = asyncio.run(generate(Writer(model=model), taken))
    assert isinstance(draft, QueryDraft)
    assert draft.query.endswith("Quick, please.")
    assert "this very message already" in model.texts[2]


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("", "empty"),
        ("<query>137.5 m?</query>", "the tag <query>"),
        ("Ask unit_calc.", "it names 'unit_calc'"),
        ("a" * 7000, "7000 characters"),
    ],
)
def test_a_message_that_no_user_would_send_is_broken(reply: str, says: str) -> None:
    components = read_components(PLAN, wanted())
    with pytest.raises(BrokenReply, match=says):
        read_query(reply, components)


def test_the_servers_are_shown_with_their_arguments_and_long_texts_cut() -> None:
    plan = wanted()
    asked = components_request(plan)
    assert "# unit_calc\n- convert_length: does convert_length\n  arguments: {}" in asked
    assert "<system_time>\nSunday, 2031-05-04 10:00 UTC\n</system_time>" in asked


def test_no_two_of_many_drafts_are_asked_for_alike() -> None:
    aims = [aim_of("multi-server-sequential-call", 7, number).as_text() for number in range(300)]
    assert len(set(aims)) == 300
    assert len({text.splitlines()[0] for text in aims[: len(DOMAINS)]}) == len(DOMAINS)
    assert aim_of("multi-server-single-call", 7, 0).calls == "1"
    assert aims != [
        aim_of("multi-server-sequential-call", 8, number).as_text() for number in range(300)
    ]


def test_a_plan_is_shown_its_aim_and_the_cases_that_there_are() -> None:
    plan = replace(wanted(), planned=("A dike warden, curt. 137.5 m of trench.", "A cook. " * 99))
    asked = components_request(plan)
    assert f"<aim>\n{plan.aim.as_text()}\n</aim>" in asked
    assert "- A dike warden, curt. 137.5 m of trench." in asked
    assert len(planned_text(["word " * 500] * 50)) < 12 * 200
    assert "planned_before" not in components_request(wanted())
    assert plan.aim.length in query_request(plan, read_components(PLAN, plan))


@pytest.mark.parametrize("category", CATEGORIES)
def test_each_server_is_planned_with_before_one_is_again(category: Category) -> None:
    names = [f"server-{number}" for number in range(12)]
    size = 1 if category.startswith("single-server") else OFFERED
    rounds = len(names) // size
    offered = [servers_for(category, names, 7, number) for number in range(rounds)]
    assert sorted(name for group in offered for name in group) == sorted(names)
    assert servers_for(category, names, 7, rounds) == offered[0]
    assert servers_for(category, names[::-1], 7, 0) == offered[0]
    assert [servers_for(category, names, seed, 0) for seed in range(9)] != [offered[0]] * 9
