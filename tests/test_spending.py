"""Prices, and what a run may spend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.agents.spending import Account, Spending, price_of, read_prices
from runner.agents.token_breakdown import apportion, token_breakdown
from runner.agents.tools import SHELL_SPEC
from runner.agents.usage import UsageTotals
from runner.protocols import Call, Message, Result, ToolMessage, Turn, UserMessage
from runner.records import Budget, Plan, Price, PriceList, Usage
from runner.records.run_store import RunStore
from runner.records.transcript_files import TranscriptWriter
from runner.runs.spent import account_of, spent
from runner.support.errors import CatalogError, FairtrialError, SpendingCap
from tests.helpers import cell

PRICE = Price(input=10.0, cache_write=20.0, cache_read=1.0, output=100.0)
BUDGET = Budget(tokens=10**9, wall_sec=10**6, actions=10**6)


def turn(**changes: Any) -> Turn:
    plain = {"text": "", "calls": (), "stop": "end", "input_tokens": 1000, "output_tokens": 100}
    return Turn(**{**plain, **changes})


# --- prices -------------------------------------------------------------------------------------


def test_the_shipped_prices_have_a_date_and_are_found_by_either_name() -> None:
    shipped = read_prices(None)
    assert shipped.date.startswith("20")
    dated = price_of(shipped, "claude-sonnet-4-5-20250929")
    assert (
        dated
        == price_of(shipped, "anthropic:claude-sonnet-4-5")
        == shipped.models["anthropic:claude-sonnet-4-5"]
    )


@pytest.mark.parametrize(
    "name", ["claude-sonnet-4", "openai:gpt-5-turbo", "openai:qwen", "offline"]
)
def test_a_model_is_priced_by_its_name_and_never_by_likeness(name: str) -> None:
    assert price_of(read_prices(None), name) is None


def test_a_users_price_file_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(
        'date: "2026-11-01"\nmodels:\n'
        "  openai:qwen: {input: 1, cache_write: 1, cache_read: 0, output: 2}\n"
    )
    prices = read_prices(file)
    assert price_of(prices, "openai:qwen") == Price(input=1, cache_write=1, cache_read=0, output=2)
    assert price_of(prices, "claude-sonnet-4-5") is None


@pytest.mark.parametrize("text", ["", "models: {}", "date: x\nmodels: {a: {input: -1}}", "[1"])
def test_what_is_no_price_file_is_said_with_its_place(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    with pytest.raises(CatalogError, match=r"prices\.yaml"):
        read_prices(file)
    with pytest.raises(FairtrialError, match="there is no price file"):
        read_prices(tmp_path / "missing.yaml")


# --- a cell's dollars ---------------------------------------------------------------------------


def test_a_cell_ends_with_the_turn_that_uses_up_its_dollars() -> None:
    totals = UsageTotals(price=PRICE, limit_usd=0.05)
    totals.add_turn(turn(cache_read_tokens=5000, cache_write_tokens=500), 1.0)
    # 500 at 10, 500 written at 20, 5000 read at 1, 100 out at 100, each per million.
    assert totals.usd == pytest.approx(0.03)
    assert totals.over(BUDGET) is None
    totals.add_turn(turn(), 1.0)
    over = totals.over(BUDGET)
    assert over is not None
    assert (over.kind, over.is_measurement) == ("out_of_budget", True)


def test_reading_the_conversation_again_does_not_use_up_the_cells_tokens() -> None:
    totals = UsageTotals()
    totals.add_turn(turn(), 1.0)
    totals.add_turn(turn(input_tokens=0, cache_read_tokens=1100), 1.0)
    assert totals.new_tokens.total == 1200


def test_the_tighter_of_two_limits_holds() -> None:
    spending = Spending(cell_usd=2.0)
    assert spending.cell_limit_usd(None) == 2.0
    assert spending.cell_limit_usd(1.0) == 1.0
    assert Spending().cell_limit_usd(None) is None


# --- a run's dollars ----------------------------------------------------------------------------


def spend(store: RunStore, number: int, *, partial: bool) -> None:
    """An attempt at the run's cell that has cost 0.02 dollars."""
    (planned,) = store.plan().cells
    folder = store.cell_folder(planned.id) / f"attempt-{number}{'.partial' if partial else ''}"
    folder.mkdir(parents=True)
    with TranscriptWriter(folder / "transcript.jsonl") as writer:
        writer.write(Usage(step=0, turn=0, input_tokens=1000, output_tokens=100, wall_sec=1))


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    made = RunStore(tmp_path / "r")
    made.write_plan(Plan(run="r", created_at="2026", ungated=True, cells=(cell(),)))
    return made


PRICES = PriceList(date="2026-01-31", models={"offline": PRICE})


def test_attempts_that_were_cut_have_been_paid_for(store: RunStore) -> None:
    spend(store, 1, partial=True)
    spend(store, 2, partial=False)
    tokens, usd = spent(store, {"offline": PRICE})
    assert (tokens, round(usd, 9)) == (2200, 0.04)
    assert spent(store, {}) == (2200, 0)


def test_a_transcript_that_a_kill_has_spoilt_hides_nothing_of_the_others(store: RunStore) -> None:
    spend(store, 1, partial=True)
    spend(store, 2, partial=True)
    (planned,) = store.plan().cells
    spoilt = store.cell_folder(planned.id) / "attempt-1.partial" / "transcript.jsonl"
    with spoilt.open("ab") as file:
        file.write(b'\x00\x00 "usage"\n{"type":"usage","step"')
    tokens, usd = spent(store, {"offline": PRICE})
    assert (tokens, round(usd, 9)) == (2200, 0.04)


def test_a_run_past_its_cap_begins_no_cell(store: RunStore) -> None:
    spend(store, 1, partial=True)
    account_of(store, Spending(prices=PRICES)).require_left()
    account_of(store, Spending(prices=PRICES, run_usd=0.05)).require_left()
    with pytest.raises(SpendingCap, match=r"may: \$0\.02 of \$0\.02") as raised:
        account_of(store, Spending(prices=PRICES, run_usd=0.02)).require_left()
    assert "--max-dollars" in raised.value.hint


def test_progress_is_told_what_was_spent_before_and_then_each_turn(store: RunStore) -> None:
    spend(store, 1, partial=True)
    told: list[tuple[int, float]] = []
    account = account_of(store, Spending(prices=PRICES), lambda *turn: told.append(turn))
    UsageTotals(price=PRICE, account=account).add_turn(turn(output_tokens=0), 1.0)
    assert [(tokens, round(usd, 9)) for tokens, usd in told] == [(1100, 0.02), (1000, 0.01)]


def test_a_cell_under_way_stops_where_the_run_has_nothing_left() -> None:
    totals = UsageTotals(price=PRICE, account=Account(cap_usd=0.01))
    totals.add_turn(turn(), 1.0)
    with pytest.raises(SpendingCap, match=r"\$0\.02 of \$0\.01"):
        totals.over(BUDGET)


def test_cells_beside_one_another_spend_from_one_account() -> None:
    account = Account(cap_usd=0.05)
    one, other = (UsageTotals(price=PRICE, account=account) for _ in range(2))
    one.add_turn(turn(), 1.0)
    other.add_turn(turn(), 1.0)
    assert one.usd == pytest.approx(0.02)
    # 0.04 are spent. Each has spent 0.02 of 0.05; a third turn of 0.02 would pass the cap.
    with pytest.raises(SpendingCap, match=r"turns cost up to \$0\.02 here"):
        one.over(BUDGET)


def test_a_turn_under_way_keeps_what_it_may_cost_from_the_turns_beside_it() -> None:
    account = Account(cap_usd=0.07)
    totals = UsageTotals(price=PRICE, account=account)
    totals.add_turn(turn(), 1.0)
    assert totals.over(BUDGET) is None
    with account.turn():
        assert totals.over(BUDGET) is None
        with account.turn(), pytest.raises(SpendingCap):
            totals.over(BUDGET)
    assert totals.over(BUDGET) is None, "a turn that has ended keeps nothing"


def test_a_cap_on_tokens_holds_without_a_price_as_one_on_dollars_does() -> None:
    account = Account(cap_tokens=2500)
    totals = UsageTotals(account=account)
    totals.add_turn(turn(), 1.0)
    assert totals.over(BUDGET) is None
    # 1,100 are spent; with one of 1,100 under way a third turn would take 3,300.
    with account.turn(), pytest.raises(SpendingCap, match="turns cost up to 1,100 new tokens"):
        totals.over(BUDGET)
    account.add(1400, 0.0)
    with pytest.raises(SpendingCap, match="2,500 new tokens of 2,500") as raised:
        totals.over(BUDGET)
    assert "--max-tokens" in raised.value.hint


def test_tokens_of_earlier_attempts_count_against_their_cap(store: RunStore) -> None:
    spend(store, 1, partial=True)
    account_of(store, Spending(run_tokens=1101)).require_left()
    with pytest.raises(SpendingCap, match="1,100 new tokens of 1,100"):
        account_of(store, Spending(run_tokens=1100)).require_left()


def test_a_turn_that_failed_keeps_nothing_either() -> None:
    account = Account(cap_usd=0.05)
    account.add(1100, 0.02)
    for _ in range(5):
        with pytest.raises(TimeoutError), account.turn():
            raise TimeoutError
    account.require_left()


# --- what tokens were of ------------------------------------------------------------------------


def test_parts_sum_to_what_was_counted_to_the_last_token() -> None:
    shares = apportion(100, {"a": 1, "b": 1, "c": 1})
    assert shares == {"a": 34, "b": 33, "c": 33}
    assert apportion(7, {"a": 0, "b": 0}) == {"a": 7, "b": 0}
    assert apportion(0, {"a": 3, "b": 5}) == {"a": 0, "b": 0}


def test_a_turns_tokens_are_told_apart_by_what_they_were_of() -> None:
    call = Call(id="1", tool="shell", arguments={"command": "x" * 50})
    asked = turn(text="p" * 30, thinking="t" * 60, calls=(call,), stop="tool_use")
    conversation: list[Message] = [
        UserMessage(text="q" * 200),
        asked,
        ToolMessage(results=(Result(call_id="1", text="r" * 3000, is_error=False),)),
    ]
    answered = turn(
        text="a" * 80, input_tokens=900, cache_read_tokens=100, output_tokens=60, thinking_tokens=40
    )
    phases = token_breakdown("s" * 100, conversation, [SHELL_SPEC], answered)
    given = phases.prompts + phases.schemas + phases.results + phases.replies
    assert given == 1000
    assert phases.results > phases.prompts > phases.replies > 0
    assert phases.schemas > 0
    assert (phases.thinking, phases.prose, phases.arguments) == (40, 20, 0)
    assert phases.estimated
