"""Queries recorded and proved on real servers in real cells, as a person does it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.benchmarks.agentbench.proof.suite import read_queries
from runner.benchmarks.agentbench.proof.yaml_records import as_yaml
from runner.benchmarks.agentbench.queries import Queries, Query
from tests.benchmarks.agentbench.desk import CHAIN, CLOCK, SINGLE, make, multiply
from tests.checkout import Checkout

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("desk")]
NO_ENGINE = {"DOCKER_HOST": "unix:///nowhere"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """With one query of one server, and one over two, recorded."""
    checkout = make(tmp_path_factory.mktemp("desk"), SINGLE, CHAIN)
    shown(checkout, "record", code=0)
    return checkout


def drafts(checkout: Checkout) -> str:
    return str(checkout.root / "drafts.yaml")


def shown(checkout: Checkout, verb: str, *options: str, code: int = 1, **env: str) -> str:
    """What is printed of the drafts, and that it ends so."""
    done = checkout.said("agentbench", verb, drafts(checkout), *options, **env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def queries(checkout: Checkout) -> dict[str, Query]:
    return {query.id: query for query in read_queries(Path(drafts(checkout))).queries}


def copied(recorded: Checkout, folder: Path, old: str, new: str) -> Checkout:
    """The recorded checkout with one change to its queries; the servers stay where they are."""
    text = (recorded.root / "drafts.yaml").read_text()
    assert old in text
    made = make(folder)
    made.write("drafts.yaml", text.replace(old, new))
    return made


def test_a_draft_is_recorded_with_what_its_tools_answer(recorded: Checkout) -> None:
    found = queries(recorded)
    assert [call.result for call in found["seats"].calls] == ["product: 1961"]
    assert [call.result for call in found["cheque"].calls] == ["product: 1961", "one nine six one"]


def test_recorded_queries_prove_themselves(recorded: Checkout) -> None:
    found = json.loads(shown(recorded, "check", "--json", code=0))
    assert {item["query"]: item["problems"] for item in found} == {"seats": [], "cheque": []}
    assert all(item["executed"] for item in found)


def test_a_result_that_is_no_longer_so_is_found(recorded: Checkout, tmp_path: Path) -> None:
    drifted = copied(recorded, tmp_path, "result: 'product: 1961'", "result: 'product 1961'")
    said = shown(drifted, "check", "--id", "seats")
    assert "FAIL seats" in said
    assert "differs from character 7 on: recorded 'product 1961', now 'product: 1961'" in said
    assert "0 of 1 queries prove themselves; 1 call executed" in said


def test_a_tool_that_answers_differently_each_time_is_not_recorded(tmp_path: Path) -> None:
    checkout = make(tmp_path, CLOCK)
    assert "tick answers differently each time" in shown(checkout, "record")
    assert queries(checkout)["clock"].calls[0].result == ""


def test_a_call_that_fails_or_ends_its_server_is_not_recorded_and_others_are(
    tmp_path: Path,
) -> None:
    unknown = {**SINGLE, "calls": [{"server": "sums", "tool": "divide"}]}
    deadly = {**SINGLE, "id": "deadly", "calls": [{"server": "sums", "tool": "fall"}]}
    checkout = make(tmp_path, unknown, deadly, {**SINGLE, "id": "other"})
    said = shown(checkout, "record")
    assert "calls[0]: divide failed: sums offers no tool 'divide'" in said
    assert "FAIL deadly" in said
    assert "no more of this" in said
    assert "ok   other" in said
    assert queries(checkout)["other"].calls[0].result == "product: 1961"


def test_a_dead_end_may_be_an_error_but_not_a_tool_that_there_is_not(tmp_path: Path) -> None:
    refusing = {"server": "words", "tool": "spell", "arguments": {"number": "tickets"}}
    astray = {**CHAIN, "dead_ends": [refusing]}
    nowhere = {**SINGLE, "dead_ends": [{"server": "sums", "tool": "seats"}]}
    checkout = make(tmp_path, astray, nowhere)
    said = shown(checkout, "record")
    assert "dead_ends[0]: seats failed: sums offers no tool 'seats'" in said
    assert "ok   cheque" in said
    assert [end.result for end in queries(checkout)["cheque"].dead_ends] == ["no digits: tickets"]
    shown(checkout, "check", "--id", "cheque", code=0)


def test_a_sound_recording_of_a_query_that_cheats_says_so(tmp_path: Path) -> None:
    superfluous = {
        **SINGLE,
        "category": "single-server-parallel-call",
        "calls": [multiply(37, 53), multiply(2, 9)],
    }
    checkout = make(tmp_path, superfluous)
    assert "queries[0].calls[1]: could be left out" in shown(checkout, "record")


def test_without_an_engine_files_alone_are_checked_if_asked_for(recorded: Checkout) -> None:
    refused = recorded.said("agentbench", "check", drafts(recorded), **NO_ENGINE)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "no Docker Engine answers" in refused.stderr
    assert shown(recorded, "check", "--static", code=0, **NO_ENGINE) == (
        "ok   seats\nok   cheque\n"
        "2 of 2 queries prove themselves; 2 trajectories were not executed\n"
    )


def test_check_proves_the_shipped_queries_beside_the_scenarios(
    recorded: Checkout, tmp_path: Path
) -> None:
    checkout = copied(recorded, tmp_path, "id: cheque", "id: cheque")
    for query in queries(checkout).values():
        file = f"scenarios/agentbench/{query.category}.yaml"
        checkout.write(file, as_yaml(Queries(queries=(query,))))
    done = checkout.said("check")
    assert (done.returncode, done.stderr.count("starting")) == (0, 1), done.stderr
    assert "2 of 2 queries prove themselves; 3 calls executed in " in done.stdout
    done = checkout.said("check", **NO_ENGINE)
    assert done.returncode == 0
    assert "2 of 2 queries prove themselves; 2 trajectories were not executed" in done.stdout
    assert "no Docker Engine answers: no trajectory of scenarios/agentbench" in done.stderr
    checkout.edit(
        "scenarios/agentbench/single-server-single-call.yaml", "53 seats", "1961 or 53 seats"
    )
    done = checkout.said("check", "--json", **NO_ENGINE)
    assert done.returncode == 1
    assert "repeating it would be an answer" in done.stdout


def test_a_server_that_is_none_is_told_with_the_closest(tmp_path: Path) -> None:
    stranger = make(tmp_path, {**SINGLE, "servers": ["sum"], "calls": [multiply(1, 2, "sum")]})
    done = stranger.said("agentbench", "record", drafts(stranger), **NO_ENGINE)
    assert done.returncode == 1
    assert "did you mean sums?" in done.stderr
