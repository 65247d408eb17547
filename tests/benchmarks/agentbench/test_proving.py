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
    done = checkout.said("agentbench", "record", drafts(checkout))
    assert done.returncode == 0, done.stdout + done.stderr
    return checkout


def drafts(checkout: Checkout) -> str:
    return str(checkout.root / "drafts.yaml")


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
    done = recorded.said("agentbench", "check", drafts(recorded), "--json")
    assert done.returncode == 0, done.stdout
    assert {item["query"]: item["problems"] for item in json.loads(done.stdout)} == {
        "seats": [],
        "cheque": [],
    }
    assert all(item["executed"] for item in json.loads(done.stdout))


def test_a_result_that_is_no_longer_so_is_found(recorded: Checkout, tmp_path: Path) -> None:
    drifted = copied(recorded, tmp_path, "result: 'product: 1961'", "result: 'product 1961'")
    done = drifted.said("agentbench", "check", drafts(drifted), "--id", "seats")
    assert done.returncode == 1
    assert "FAIL seats" in done.stdout
    assert "differs from character 7 on: recorded 'product 1961', now 'product: 1961'" in (
        done.stdout
    )
    assert "0 of 1 queries prove themselves; 1 call executed" in done.stdout


def test_a_tool_that_answers_differently_each_time_is_not_recorded(tmp_path: Path) -> None:
    checkout = make(tmp_path, CLOCK)
    done = checkout.said("agentbench", "record", drafts(checkout))
    assert done.returncode == 1
    assert "tick answers differently each time" in done.stdout
    assert queries(checkout)["clock"].calls[0].result == ""


def test_a_call_that_fails_or_ends_its_server_is_not_recorded_and_others_are(
    tmp_path: Path,
) -> None:
    unknown = {**SINGLE, "calls": [{"server": "sums", "tool": "divide"}]}
    deadly = {**SINGLE, "id": "deadly", "calls": [{"server": "sums", "tool": "fall"}]}
    checkout = make(tmp_path, unknown, deadly, {**SINGLE, "id": "other"})
    done = checkout.said("agentbench", "record", drafts(checkout))
    assert done.returncode == 1
    assert "calls[0]: divide failed: sums offers no tool 'divide'" in done.stdout
    assert "FAIL deadly" in done.stdout
    assert "no more of this" in done.stdout
    assert "ok   other" in done.stdout
    assert queries(checkout)["other"].calls[0].result == "product: 1961"


def test_a_dead_end_may_be_an_error_but_not_a_tool_that_there_is_not(tmp_path: Path) -> None:
    refusing = {"server": "words", "tool": "spell", "arguments": {"number": "tickets"}}
    astray = {**CHAIN, "dead_ends": [refusing]}
    nowhere = {**SINGLE, "dead_ends": [{"server": "sums", "tool": "seats"}]}
    checkout = make(tmp_path, astray, nowhere)
    done = checkout.said("agentbench", "record", drafts(checkout))
    assert "dead_ends[0]: seats failed: sums offers no tool 'seats'" in done.stdout
    assert "ok   cheque" in done.stdout
    assert [end.result for end in queries(checkout)["cheque"].dead_ends] == ["no digits: tickets"]
    done = checkout.said("agentbench", "check", drafts(checkout), "--id", "cheque")
    assert done.returncode == 0, done.stdout


def test_a_sound_recording_of_a_query_that_cheats_says_so(tmp_path: Path) -> None:
    superfluous = {
        **SINGLE,
        "category": "single-server-parallel-call",
        "calls": [multiply(37, 53), multiply(2, 9)],
    }
    checkout = make(tmp_path, superfluous)
    done = checkout.said("agentbench", "record", drafts(checkout))
    assert done.returncode == 1
    assert "queries[0].calls[1]: could be left out" in done.stdout


def test_without_an_engine_files_alone_are_checked_if_asked_for(recorded: Checkout) -> None:
    check = ("agentbench", "check", drafts(recorded))
    refused = recorded.said(*check, **NO_ENGINE)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "no Docker Engine answers" in refused.stderr
    done = recorded.said(*check, "--static", **NO_ENGINE)
    assert done.returncode == 0
    assert done.stdout == (
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
