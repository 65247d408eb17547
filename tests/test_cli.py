"""The command, as a person meets it: real processes, real containers, and every kind of bad input."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest

from tests.checkout import LATER, Checkout, git, make

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module", autouse=True)
def no_volumes_left(engine: docker.DockerClient) -> Iterator[None]:
    """The install volumes of these tests' servers, which several tests share."""
    yield
    for volume in engine.volumes.list(filters={"label": "fairtrial=server"}):
        if str(volume.name).split("-")[2] in ("good", "bad", "slow", "probe", "babbler", "more"):
            volume.remove()


@pytest.fixture(scope="module")
def template(
    tmp_path_factory: pytest.TempPathFactory, base_image: str, engine: docker.DockerClient
) -> Iterator[Checkout]:
    made = make(tmp_path_factory.mktemp("checkout") / "template")
    yield made
    made.remove_images(engine)


@pytest.fixture
def checkout(tmp_path: Path, base_image: str, engine: docker.DockerClient) -> Iterator[Checkout]:
    made = make(tmp_path / "checkout")
    yield made
    made.remove_images(engine)


@pytest.fixture(autouse=True)
def nothing_left(engine: docker.DockerClient, tmp_path: Path) -> Iterator[None]:
    """No test of the command leaves a cell of its runs behind."""
    yield
    cells = engine.api.containers(all=True, filters={"label": "fairtrial=cell"})
    assert not [
        item for item in cells if item["Labels"].get("fairtrial.run", "").startswith(str(tmp_path))
    ]


def run(
    checkout: Checkout, *arguments: str, servers: tuple[str, ...] = ("good",)
) -> subprocess.CompletedProcess[str]:
    named = [word for name in servers for word in ("--server", name)]
    return checkout.fairtrial(
        "run", "--run", "r", "--scenario", "small", *named, "--ungated", *arguments
    )


@contextmanager
def under_way(checkout: Checkout, arguments: tuple[str, ...]) -> Iterator[subprocess.Popen[str]]:
    """The command as a process, once the server `slow` is starting in its cell."""
    with subprocess.Popen(
        checkout.argv(*arguments), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        assert any("slow: the server starts" in line for line in process.stderr)
        yield process


def test_a_run_compares_the_shell_with_a_server_and_writes_every_page(checkout: Checkout) -> None:
    done = run(checkout)
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.splitlines()[0]
        == "Made with the offline model: it checks plumbing and servers, and ranks nobody."
    )
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert checkout.outcomes("r") == {"shell": ["answered"], "good": ["answered"]}
    for page in ("report.json", "report.md", "report.html"):
        text = (checkout.root / "runs" / "r" / page).read_text()
        assert "UNGATED" in text
    assert "[1/2]" in done.stderr


def test_the_prompts_the_limits_and_the_container_are_the_same_in_both_arms(
    checkout: Checkout,
) -> None:
    run(checkout)
    prints = [
        json.loads(p.read_text())["fingerprint"]
        for p in (checkout.root / "runs" / "r").glob("cells/*/attempt-1/result.json")
    ]
    differing = {key for key in prints[0] if prints[0][key] != prints[1][key]}
    assert differing == {"server", "server_version", "server_spec", "tools"}


def test_a_finished_run_runs_nothing_again(checkout: Checkout) -> None:
    run(checkout)
    done = run(checkout)
    assert "2 of 2 cells are finished and kept" in done.stderr
    assert checkout.outcomes("r") == {"shell": ["answered"], "good": ["answered"]}


def test_a_runner_killed_in_a_cell_goes_on_with_finished_cells_kept_and_no_container_left(
    checkout: Checkout, engine: docker.DockerClient
) -> None:
    checkout.add_server("slow", "good", warm_up=[{"shell": "sleep 20"}])
    arguments = (
        "run",
        "--run",
        "r",
        "--scenario",
        "small",
        "--server",
        "good",
        "--server",
        "slow",
        "--ungated",
    )
    with under_way(checkout, arguments) as process:
        time.sleep(1)
        process.send_signal(signal.SIGKILL)
    cells = {"label": ["fairtrial=cell", f"fairtrial.run={checkout.root / 'runs' / 'r'}"]}
    assert len(engine.api.containers(filters=cells)) == 1
    finished = {
        path: path.stat().st_mtime_ns
        for path in (checkout.root / "runs").glob("r/cells/*/attempt-*/result.json")
    }
    assert len(finished) == 2
    checkout.edit("images/servers/slow/server.yaml", "title: slow", "title: still slow")
    done = checkout.fairtrial(*arguments)
    assert done.returncode == 0, done.stderr
    assert "2 of 3 cells are finished and kept" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert checkout.outcomes("r") == {
        "shell": ["answered"],
        "good": ["answered"],
        "slow": ["answered"],
    }
    assert len(list((checkout.root / "runs" / "r").glob("cells/*/attempt-1.partial"))) == 1


def test_ctrl_c_records_the_cell_under_way_and_the_same_command_goes_on(checkout: Checkout) -> None:
    checkout.add_server("slow", "good", warm_up=[{"shell": "sleep 4"}])
    arguments = ("run", "--run", "r", "--scenario", "small", "--server", "slow", "--ungated")
    with under_way(checkout, arguments) as process:
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()
    assert process.returncode == 130
    assert "interrupted: what is finished is kept" in rest
    assert checkout.outcomes("r")["slow"] == ["cancelled"]
    assert checkout.fairtrial(*arguments).returncode == 0
    assert checkout.outcomes("r")["slow"] == ["cancelled", "answered"]


def test_a_second_runner_on_the_same_run_is_told_who_is_at_work(checkout: Checkout) -> None:
    checkout.add_server("slow", "good", warm_up=[{"shell": "sleep 3"}])
    arguments = ("run", "--run", "r", "--scenario", "small", "--server", "slow", "--ungated")
    with under_way(checkout, arguments) as process:
        second = checkout.fairtrial(*arguments)
        process.communicate()
    assert (second.returncode, process.returncode) == (1, 0)
    assert f"another runner (process {process.pid}) is at work on this run" in second.stderr


@pytest.mark.parametrize(
    ("mode", "changes", "reason"),
    [
        ("silent", {"initialize_timeout_sec": 1}, "did not initialise in 1 s"),
        ("dies", {}, "no module named mcp"),
        (
            "good",
            {"canaries": [{"repository": "*", "call": {"tool": "echo"}, "contains": "def "}]},
            "canary: expected",
        ),
        ("good", {"warm_up": [{"shell": "echo no grammar; exit 3"}]}, "no grammar"),
        ("good", {"warm_up": [{"call": {"tool": "die"}}]}, "the index is corrupt"),
    ],
)
def test_a_server_that_fails_is_a_result_of_its_arm_and_stops_nobody_else(
    checkout: Checkout, mode: str, changes: dict[str, object], reason: str
) -> None:
    checkout.add_server("bad", mode, **changes)
    done = run(checkout, servers=("bad", "good"))
    assert done.returncode == 0, done.stderr
    assert checkout.outcomes("r") == {
        "shell": ["answered"],
        "bad": ["server_crashed"],
        "good": ["answered"],
    }
    assert reason in checkout.reason("r", "bad")


def test_a_server_that_babbles_on_stdout_is_measured_and_noted(checkout: Checkout) -> None:
    checkout.add_server("babbler", "babble")
    run(checkout, servers=("babbler",))
    assert checkout.outcomes("r")["babbler"] == ["answered"]
    transcripts = [
        path.read_text()
        for path in (checkout.root / "runs").glob("r/cells/*/attempt-1/transcript.jsonl")
    ]
    assert (
        sum("50 lines on the server's stdout were not JSON-RPC" in text for text in transcripts)
        == 1
    )


def test_no_cell_can_see_a_later_commit(checkout: Checkout) -> None:
    later = git(checkout.root / "upstream", "rev-parse", "main")
    looking = f"git log --all --oneline | wc -l; git grep -c FUTURE $(git rev-list --all); git remote -v; git cat-file -t {later}; exit 9"
    checkout.add_server("probe", "good", warm_up=[{"shell": looking}])
    run(checkout, servers=("probe",))
    reason = checkout.reason("r", "probe")
    assert LATER.split()[0] not in reason
    assert "1\n" in reason
    assert "could not get object info" in reason


def test_scoring_again_needs_no_engine_and_gives_the_same_scorecards(checkout: Checkout) -> None:
    run(checkout)
    cards = {
        path: path.read_bytes()
        for path in (checkout.root / "runs").glob("r/cells/*/scorecard.json")
    }
    for path in cards:
        path.unlink()
    argv = checkout.argv("score", "r")
    done = subprocess.run(
        argv,
        env={**os.environ, "DOCKER_HOST": "unix:///nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "scored 2 of 2 cells of r\n"), done.stderr
    assert {path: path.read_bytes() for path in cards} == cards


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--scenario", "smal"), "small"),
        (("run", "--server", "god"), "good"),
        (("run", "--model", "gpt-9"), "this version has `offline`"),
        (("run", "--model", "replay:/nowhere"), "there is no recording"),
        (("report", "nothing"), "no such run"),
        (("score", "nothing"), "no such run"),
        (("server", "check", "god"), "good"),
    ],
)
def test_an_unknown_name_says_which_and_names_the_closest(
    template: Checkout, arguments: tuple[str, ...], said: str
) -> None:
    extra = ("--ungated",) if arguments[0] == "run" else ()
    done = template.fairtrial(*arguments, *extra)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "hint: " in done.stderr
    assert said in done.stderr


def test_a_misspelt_key_is_named_with_its_file_and_place(checkout: Checkout) -> None:
    checkout.edit("scenarios/core/small/scenario.yaml", "must_cite:", "must_site:")
    done = run(checkout)
    assert done.returncode == 1
    assert "scenarios/core/small/scenario.yaml steps[0].must_site" in done.stderr


def test_a_commit_nobody_has_is_refused_before_any_cell(checkout: Checkout) -> None:
    checkout.edit("scenarios/core/small/scenario.yaml", checkout.commit, "f" * 40)
    done = run(checkout)
    assert done.returncode == 1
    assert "f" * 12 in done.stderr
    assert not (checkout.root / "runs").exists()


def test_a_tampered_repository_lock_is_refused(checkout: Checkout) -> None:
    lock = checkout.root / "locks" / "repos.lock"
    tree = next(iter(json.loads(lock.read_text()).values()))["tree"]
    checkout.edit("locks/repos.lock", tree, "0" * 40)
    done = run(checkout)
    assert done.returncode == 1
    assert "hint: " in done.stderr
    assert "0" * 12 in done.stderr


def test_a_changed_prompt_is_another_plan_and_the_finished_cells_stay(checkout: Checkout) -> None:
    run(checkout)
    checkout.edit("scenarios/core/small/scenario.yaml", "step by step", "line by line")
    done = run(checkout)
    assert done.returncode == 1
    assert "this run was planned with different inputs: scenario changed since" in done.stderr
    assert checkout.outcomes("r") == {"shell": ["answered"], "good": ["answered"]}


def test_no_engine_says_how_to_get_one_and_is_not_our_bug(template: Checkout) -> None:
    argv = template.argv("run", "--run", "none", "--scenario", "small", "--ungated")
    done = subprocess.run(
        argv,
        env={**os.environ, "DOCKER_HOST": "unix:///nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no Docker Engine answers" in done.stderr
    assert "hint: `./justw demo` starts one" in done.stderr


def test_replaying_a_cell_tells_where_a_server_answers_otherwise(checkout: Checkout) -> None:
    run(checkout)
    shell = checkout.attempt("r", "shell")
    done = checkout.fairtrial(
        "cell", "small", "shell", "--model", f"replay:{shell}", "--run", "again", "--ungated"
    )
    assert done.returncode == 0, done.stderr
    (told,) = (checkout.root / "runs").glob("again/cells/*/attempt-1/differences.json")
    assert json.loads(told.read_text())["differences"] == []
    assert json.loads(told.read_text())["compared"] > 0
    assert "small × shell: 0 of " in done.stderr


def test_a_server_is_examined_and_its_card_shown(template: Checkout) -> None:
    done = template.fairtrial("server", "check", "good", "--json")
    assert done.returncode == 0, done.stderr
    (card,) = json.loads(done.stdout)
    assert (card["name"], card["canary_passed"], card["network_attempts"], len(card["tools"])) == (
        "good",
        True,
        0,
        5,
    )
    assert "good passes on git:" in template.fairtrial("server", "check", "good").stdout


def test_clean_removes_a_dead_runners_cell_and_spares_a_living_ones(
    template: Checkout, engine: docker.DockerClient, base_image: str
) -> None:
    host = socket.gethostname()
    started = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]
    owners = {"dead": f"{host}:999999999:1", "living": f"{host}:{os.getpid()}:{started}"}
    made = {
        name: engine.containers.create(
            base_image, ["true"], labels={"fairtrial": "cell", "fairtrial.owner": owner}
        )
        for name, owner in owners.items()
    }
    try:
        assert template.fairtrial("clean").returncode == 0
        left = {item["Id"] for item in engine.api.containers(all=True)}
        assert (made["dead"].id in left, made["living"].id in left) == (False, True)
    finally:
        made["living"].remove(force=True)


def test_a_full_disk_loses_no_finished_cell(checkout: Checkout) -> None:
    run(checkout)
    checkout.add_server("more", "good")
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
        "from runner.cli import main\nmain(sys.argv[1:])\n"
    )
    arguments = checkout.argv("run", "--run", "full", "--scenario", "small", "--ungated")[1:]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "hint: free some" in done.stderr
    assert checkout.outcomes("r") == {"shell": ["answered"], "good": ["answered"]}


def test_help_names_every_verb_and_exit_code(template: Checkout) -> None:
    text = template.fairtrial("--help").stdout
    for word in (
        "demo",
        "run",
        "cell",
        "score",
        "report",
        "check",
        "lock",
        "server",
        "ground",
        "clean",
        "70 our bug",
        "130 interrupted",
    ):
        assert word in text
