"""The command, as a person meets it: real processes and containers, and every kind of bad input."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from tests.checkout import LATER, SHELL_FIRST, Checkout, git, make
from tests.helpers import PATIENCE_SEC, wait_until

pytestmark = pytest.mark.docker
NO_ENGINE = {"DOCKER_HOST": "unix:///nowhere"}
BOTH_ANSWERED = {"shell": ["answered"], "good": ["answered"]}


@pytest.fixture(scope="module")
def volumes(engine: docker.DockerClient, base_image: str) -> Iterator[set[str]]:
    """Names of the servers' install volumes, which several tests share. Removed at the end.

    The base image is asked for here, so that it is there before any checkout needs it.
    """
    names: set[str] = set()
    yield names
    for name in names:
        # A server whose test failed early may never have been installed.
        with suppress(docker.errors.NotFound):
            engine.api.remove_volume(name, force=True)


@pytest.fixture(scope="module")
def template(
    tmp_path_factory: pytest.TempPathFactory,
    engine: docker.DockerClient,
    volumes: set[str],
) -> Iterator[Checkout]:
    """For tests that change nothing in it. Its workspace image and its volume are there."""
    checkout = make(tmp_path_factory.mktemp("checkout") / "template")
    assert checkout.said("server", "check", "good").returncode == 0
    yield checkout
    volumes |= checkout.volumes()
    checkout.remove_images(engine)


@pytest.fixture(scope="module")
def ran(template: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """With a finished run, made once."""
    checkout = copy_of(template, tmp_path_factory.mktemp("ran") / "checkout")
    assert run(checkout).returncode == 0
    return checkout


def copy_of(checkout: Checkout, root: Path) -> Checkout:
    # Some test may have begun a run in the template.
    ignore = shutil.ignore_patterns("runs")
    shutil.copytree(checkout.root, root, symlinks=True, ignore=ignore)
    return Checkout(root, checkout.commit)


@pytest.fixture
def checkout(template: Checkout, tmp_path: Path, volumes: set[str]) -> Iterator[Checkout]:
    copied = copy_of(template, tmp_path / "checkout")
    yield copied
    volumes |= copied.volumes()


@pytest.fixture
def its_run(ran: Checkout, checkout: Checkout) -> None:
    shutil.copytree(ran.run_folder("r"), checkout.run_folder("r"))


finished = pytest.mark.usefixtures("its_run")
"""The test's checkout has a finished run `r`, of the shell and a good server."""


def run(
    checkout: Checkout, *arguments: str, servers: tuple[str, ...] = ("good",)
) -> subprocess.CompletedProcess[str]:
    return checkout.said(*run_arguments(*servers), *arguments)


def run_arguments(*servers: str) -> tuple[str, ...]:
    arguments = ["run", "--run", "r", "--scenario", "small", "--ungated", *SHELL_FIRST]
    for name in servers:
        arguments += ["--server", name]
    return tuple(arguments)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """What the command writes to stderr as it ends with something the user can fix."""
    assert done.returncode == 1, done.stderr
    return done.stderr


# --- the cells of a run -------------------------------------------------------------------------


def cells_of(engine: docker.DockerClient, checkout: Checkout) -> list[str]:
    """Ids of the containers of the checkout's run, whatever else is on the engine."""
    label = f"fairtrial.run={checkout.run_folder('r')}"
    return [item["Id"] for item in engine.api.containers(all=True, filters={"label": label})]


def volume_of(engine: docker.DockerClient, cell: str) -> str:
    """Name of the one volume that is mounted in the cell."""
    (mount,) = engine.api.inspect_container(cell)["Mounts"]
    return str(mount["Name"])


@pytest.fixture(autouse=True)
def nothing_left(engine: docker.DockerClient, tmp_path: Path) -> Iterator[None]:
    """No test of the command leaves a cell of its runs behind."""
    yield
    left = []
    for item in engine.api.containers(all=True, filters={"label": "fairtrial=cell"}):
        # Others may be using the engine: their cells are none of ours.
        if item["Labels"].get("fairtrial.run", "").startswith(str(tmp_path)):
            left.append(item)
    assert left == []


def add_waiting_server(checkout: Checkout) -> None:
    """The server `slow`: its warm-up goes on until the test says `let_go`."""
    waiting = {"shell": "until test -e /tmp/go; do sleep 0.1; done", "timeout_sec": PATIENCE_SEC}
    checkout.add_server("slow", "good", warm_up=[waiting])


@dataclass(frozen=True, kw_only=True)
class UnderWay:
    """The command as a process of its own, with the server `slow` waiting in its cell."""

    process: subprocess.Popen[bytes]
    errors: Path
    """What it writes to stderr."""
    engine: docker.DockerClient
    cell: str

    def let_go(self) -> None:
        """End the warm-up of `slow`."""
        made = self.engine.api.exec_create(self.cell, ["touch", "/tmp/go"])
        self.engine.api.exec_start(made["Id"])
        assert self.engine.api.exec_inspect(made["Id"])["ExitCode"] == 0

    def exit_code(self) -> int:
        return self.process.wait(timeout=PATIENCE_SEC)


# A shell starts what it runs in the background with SIGINT ignored, and every child inherits that:
# `just test &` would wait for ever for a runner that Ctrl-C does not reach.
HEED_CTRL_C = """\
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


@contextmanager
def under_way(engine: docker.DockerClient, checkout: Checkout, *servers: str) -> Iterator[UnderWay]:
    errors = checkout.root / "stderr.txt"
    argv = [sys.executable, "-c", HEED_CTRL_C, *checkout.argv(*run_arguments(*servers))]
    with (
        errors.open("wb") as file,
        subprocess.Popen(argv, stderr=file, stdout=subprocess.DEVNULL) as process,
    ):

        def waits() -> bool:
            assert process.poll() is None, errors.read_text()
            return "slow: the server starts" in errors.read_text()

        try:
            wait_until(waits, "the server `slow` started")
            (cell,) = cells_of(engine, checkout)
            # Named otherwise, every volume would be left behind without a word.
            assert volume_of(engine, cell) in checkout.volumes()
            yield UnderWay(process=process, errors=errors, engine=engine, cell=cell)
        finally:
            # A test that failed half-way would wait for ever for a runner that nobody lets go.
            process.kill()


def test_a_runner_killed_in_a_cell_goes_on_with_finished_cells_kept_and_no_container_left(
    checkout: Checkout, engine: docker.DockerClient
) -> None:
    add_waiting_server(checkout)
    with under_way(engine, checkout, "good", "slow") as first:
        first.process.send_signal(signal.SIGKILL)
    finished = {path: path.stat().st_mtime_ns for path in checkout.results("r")}
    assert len(finished) == 2
    checkout.edit("images/servers/slow/server.yaml", "title: slow", "title: still slow")
    with under_way(engine, checkout, "good", "slow") as second:
        assert second.cell != first.cell
        second.let_go()
        assert second.exit_code() == 0, second.errors.read_text()
    assert "2 of 3 cells are finished and kept" in second.errors.read_text()
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert checkout.outcomes("r") == BOTH_ANSWERED | {"slow": ["answered"]}
    assert len(list(checkout.run_folder("r").glob("cells/*/attempt-1.partial"))) == 1
    assert cells_of(engine, checkout) == []


def test_ctrl_c_records_the_cell_under_way_and_the_same_command_goes_on(
    checkout: Checkout, engine: docker.DockerClient
) -> None:
    add_waiting_server(checkout)
    with under_way(engine, checkout, "slow") as first:
        first.process.send_signal(signal.SIGINT)
        assert first.exit_code() == 130
    assert "interrupted: what is finished is kept" in first.errors.read_text()
    assert checkout.outcomes("r")["slow"] == ["cancelled"]
    with under_way(engine, checkout, "slow") as second:
        second.let_go()
        assert second.exit_code() == 0, second.errors.read_text()
    assert checkout.outcomes("r")["slow"] == ["cancelled", "answered"]


def test_a_second_runner_on_the_same_run_is_told_who_is_at_work(
    checkout: Checkout, engine: docker.DockerClient
) -> None:
    add_waiting_server(checkout)
    with under_way(engine, checkout, "slow") as first:
        second = run(checkout, servers=("slow",))
        first.let_go()
        assert first.exit_code() == 0, first.errors.read_text()
    assert second.returncode == 1
    assert f"another runner (process {first.process.pid}) is at work on this run" in second.stderr


# --- a run from end to end ----------------------------------------------------------------------


def test_a_run_compares_the_shell_with_a_server_and_writes_every_page(checkout: Checkout) -> None:
    done = checkout.fairtrial(*run_arguments("good"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "UNGATED · SCREENING · r",
        "Nobody is ranked: no language model answered. Differences from the shell: good",
    ]
    # But for the path of the page, which is the test's own.
    assert max(map(len, lines[:-1])) <= 80 and len(lines) <= 20
    assert lines[-2:] == [
        "all   fairtrial report r --full",
        f"page  {checkout.run_folder('r') / 'report.html'}",
    ]
    assert checkout.outcomes("r") == BOTH_ANSWERED
    for page in ("report.json", "report.md", "report.html"):
        assert "UNGATED" in (checkout.run_folder("r") / page).read_text()
    assert "[1/2]" in done.stderr


@finished
def test_the_prompts_the_limits_and_the_container_are_the_same_in_both_arms(
    checkout: Checkout,
) -> None:
    one, other = (json.loads(path.read_text())["fingerprint"] for path in checkout.results("r"))
    differing = {key for key in one if one[key] != other[key]}
    assert differing == {"server", "server_version", "server_spec", "tools"}


def test_two_shards_of_real_cells_merge_into_the_figures_of_one_run(checkout: Checkout) -> None:
    for number in (1, 2):
        done = run(checkout, "--trials", "2", "--shard", f"{number}/2")
        assert done.returncode == 0, done.stderr
        assert f"shard {number}/2 of r" in done.stderr
        assert not (checkout.run_folder(f"r.{number}-of-2") / "report.json").exists()
    assert checkout.said("merge", "r.1-of-2", "r.2-of-2").returncode == 0
    done = checkout.said("report", "r", "--ungated")
    assert done.returncode == 0, done.stderr
    assert run(checkout, "--trials", "2", "--run", "whole").returncode == 0
    merged, whole = (fairness_of(checkout, name) for name in ("r", "whole"))
    assert merged == whole
    # The same words without a shard find nothing left to do.
    again = run(checkout, "--trials", "2")
    assert "4 of 4 cells are finished and kept" in again.stderr


def fairness_of(checkout: Checkout, run: str) -> dict[str, dict[str, float]]:
    """By arm, the parts that no clock is in."""
    written = json.loads((checkout.run_folder(run) / "report.json").read_text())
    return {arm["server"]: without_clock(arm["fairness"]["parts"]) for arm in written["arms"]}


def without_clock(parts: dict[str, float]) -> dict[str, float]:
    return {name: figure for name, figure in parts.items() if name != "efficiency"}


@finished
def test_full_shows_every_table_of_the_run(checkout: Checkout) -> None:
    first, full = (checkout.said("report", "r", "--ungated", *more) for more in ((), FULL))
    assert (first.returncode, full.returncode) == (0, 0), full.stderr
    assert "What the tokens were of, per cell" in full.stdout
    assert "What the tokens were of" not in first.stdout
    assert "wrote report.json, report.md, report.html in " in first.stderr


FULL = ("--full",)
NO_SUCH_TEXT = {"repository": "*", "call": {"tool": "echo"}, "contains": "def "}


Failing = tuple[str, dict[str, object], str]
"""How a server behaves, what its definition says otherwise, and the reason that is told."""
CRASHED: dict[str, Failing] = {
    "mute": ("silent", {"initialize_timeout_sec": 1}, "did not initialise in 1 s"),
    "dead": ("dies", {}, "no module named mcp"),
    "late": ("good", {"warm_up": [{"call": {"tool": "die"}}]}, "the index is corrupt"),
}
HANGS = {"call": {"tool": "hang"}, "timeout_sec": 1}
NOT_READY: dict[str, Failing] = {
    "blind": ("good", {"canaries": [NO_SUCH_TEXT]}, "canary: expected"),
    "broken": ("good", {"warm_up": [{"shell": "echo no grammar; exit 3"}]}, "no grammar"),
    "slow": ("good", {"warm_up": [HANGS]}, "hang gave no answer in 1 s"),
}


def add_failing(checkout: Checkout, servers: dict[str, Failing], **changes: object) -> None:
    for name, (mode, own, _) in servers.items():
        checkout.add_server(name, mode, **changes, **own)


def untold(checkout: Checkout, servers: dict[str, Failing]) -> list[str]:
    """The servers whose reason is not told."""
    told = servers.items()
    return [name for name, (_, _, reason) in told if reason not in checkout.reason("r", name)]


def test_servers_that_fail_are_results_of_their_arms_and_stop_nobody_else(
    checkout: Checkout,
) -> None:
    add_failing(checkout, CRASHED)
    done = run(checkout, servers=(*CRASHED, "good"))
    assert done.returncode == 0, done.stderr
    crashed = {name: ["server_crashed"] for name in CRASHED}
    assert checkout.outcomes("r") == BOTH_ANSWERED | crashed
    assert untold(checkout, CRASHED) == []


def test_servers_that_are_not_ready_are_no_figure_and_are_tried_again(checkout: Checkout) -> None:
    add_failing(checkout, NOT_READY, ready_timeout_sec=1)
    done = run(checkout, servers=(*NOT_READY, "good"))
    assert done.returncode == 1
    assert "error: 3 of 5 cells are not measured" in done.stderr
    for name in NOT_READY:
        hint = f"hint: `fairtrial server check {name}` shows why it was not ready"
        assert hint in done.stderr
    assert re.search(r"server_not_ready: small, \w+, trial 1: ", done.stdout)
    assert "again fairtrial run --run r --scenario small" in done.stdout
    for times in (1, 2):
        late = {name: ["server_not_ready"] * times for name in NOT_READY}
        assert checkout.outcomes("r") == BOTH_ANSWERED | late
        assert untold(checkout, NOT_READY) == []
        if times == 1:
            run(checkout, servers=(*NOT_READY, "good"))


def test_a_server_that_babbles_on_stdout_is_measured_and_noted(checkout: Checkout) -> None:
    checkout.add_server("babbler", "babble")
    run(checkout, servers=("babbler",))
    assert checkout.outcomes("r")["babbler"] == ["answered"]
    note = "50 lines on the server's stdout were not JSON-RPC"
    noted = [note in transcript for transcript in checkout.transcripts("r")]
    assert sorted(noted) == [False, True]


def test_no_cell_can_see_a_later_commit(checkout: Checkout) -> None:
    later = git(checkout.root / "upstream", "rev-parse", "main")
    looking = (
        "git log --all --oneline | wc -l;"
        " git grep -c FUTURE $(git rev-list --all);"
        " git remote -v;"
        f" git cat-file -t {later};"
        " exit 9"
    )
    checkout.add_server("probe", "good", warm_up=[{"shell": looking}])
    run(checkout, servers=("probe",))
    reason = checkout.reason("r", "probe")
    assert LATER.split()[0] not in reason
    assert "1\n" in reason
    assert "could not get object info" in reason


@finished
def test_scoring_again_needs_no_engine_and_gives_the_same_scorecards(checkout: Checkout) -> None:
    paths = list(checkout.run_folder("r").glob("cells/*/scorecard.json"))
    cards = {path: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    done = checkout.said("score", "r", **NO_ENGINE)
    assert (done.returncode, done.stdout) == (0, "scored 2 of 2 cells of r\n"), done.stderr
    assert {path: path.read_bytes() for path in paths} == cards


@finished
def test_replaying_a_cell_tells_whether_a_server_answers_otherwise(checkout: Checkout) -> None:
    recording = f"replay:{checkout.attempt('r', 'shell')}"
    done = checkout.said(
        "cell", "small", "shell", "--model", recording, "--run", "again", "--ungated"
    )
    assert done.returncode == 0, done.stderr
    (path,) = checkout.run_folder("again").glob("cells/*/attempt-1/differences.json")
    artifact = json.loads(path.read_text())
    assert artifact["differences"] == []
    assert artifact["compared"] > 0
    assert "small × shell: 0 of " in done.stderr


@finished
def test_a_servers_recording_is_not_played_in_the_shells_arm(checkout: Checkout) -> None:
    model = f"replay:{checkout.attempt('r', 'good')}"
    arguments = ("--model", model, "--run", "again", "--ungated")
    # The shell is in every run, and would have played the server's turns.
    done = checkout.said("cell", "small", "good", *arguments)
    assert done.returncode == 0, done.stderr
    assert checkout.outcomes("again") == {"good": ["answered"]}
    asked = ("run", "--scenario", "small", "--server", "shell", "--server", "good")
    said = refused(checkout.said(*asked, "--model", model, "--run", "both", "--ungated"))
    assert "there is no recording of shell on small, trial 1" in said
    assert "there is one of good on small, trial 1" in said
    assert checkout.outcomes("both") == {}


@finished
def test_a_runs_folder_gives_each_arm_its_own_recording(checkout: Checkout) -> None:
    arguments = ("--scenario", "small", "--server", "good", "--ungated", "--run", "again")
    model = f"replay:{checkout.run_folder('r')}"
    done = checkout.said("run", *arguments, "--model", model)
    assert done.returncode == 0, done.stderr
    assert checkout.outcomes("again") == BOTH_ANSWERED
    for arm in ("shell", "good"):
        old, new = (_calls(checkout.attempt(name, arm)) for name in ("r", "again"))
        assert old == new
    assert "0 of " in done.stderr and "replayed tool results differ" in done.stderr


def _calls(attempt: Path) -> list[tuple[str, object]]:
    """The tools that were called, with their arguments."""
    lines = map(json.loads, (attempt / "transcript.jsonl").read_text().splitlines())
    return [(line["tool"], line["arguments"]) for line in lines if line["type"] == "tool_call"]


@finished
def test_a_changed_prompt_is_another_plan_and_the_finished_cells_stay(checkout: Checkout) -> None:
    checkout.edit("scenarios/core/small/scenario.yaml", "step by step", "line by line")
    refusal = refused(run(checkout))
    assert "this run was planned with different inputs: scenario changed since" in refusal
    assert checkout.outcomes("r") == BOTH_ANSWERED


FULL_DISK = """\
import resource, signal, sys
# Ignored, or the process would die of it instead of being told that the disk is full.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
from runner.cli.main import main
main(sys.argv[1:])
"""


@finished
def test_a_full_disk_loses_no_finished_cell(checkout: Checkout) -> None:
    checkout.add_server("more", "good")
    arguments = checkout.argv("run", "--run", "full", "--scenario", "small", "--ungated")[1:]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "hint: free some" in done.stderr
    assert checkout.outcomes("r") == BOTH_ANSWERED


# --- what is refused, and how it is told --------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("run", "--scenario", "smal", "--ungated"), "small"),
        (("run", "--server", "god", "--ungated"), "good"),
        (("run", "--model", "gpt-9", "--ungated"), "this version has `offline`"),
        (("run", "--model", "replay:/nowhere", "--ungated"), "there is no recording"),
        (("report", "nothing"), "no such run"),
        (("score", "nothing"), "no such run"),
        (("server", "check", "god"), "good"),
    ],
)
def test_an_unknown_name_says_which_and_names_the_closest(
    template: Checkout, arguments: tuple[str, ...], named: str
) -> None:
    refusal = refused(template.said(*arguments))
    assert refusal.startswith("error: ")
    assert "hint: " in refusal
    assert named in refusal


def test_a_commit_nobody_has_is_refused_before_any_cell(checkout: Checkout) -> None:
    checkout.edit("scenarios/core/small/scenario.yaml", checkout.commit, "f" * 40)
    assert "f" * 12 in refused(run(checkout))
    assert not (checkout.root / "runs").exists()


def test_a_tampered_repository_lock_is_refused(checkout: Checkout) -> None:
    lock = json.loads((checkout.root / "locks" / "repos.lock").read_text())
    (pin,) = lock.values()
    checkout.edit("locks/repos.lock", pin["tree"], "0" * 40)
    refusal = refused(run(checkout))
    assert "hint: " in refusal
    assert "0" * 12 in refusal


def test_no_engine_says_how_to_get_one_and_is_not_our_bug(template: Checkout) -> None:
    done = template.said("run", "--scenario", "small", "--ungated", **NO_ENGINE)
    refusal = refused(done)
    assert "no Docker Engine answers" in refusal
    assert "DOCKER_HOST" in refusal and "start the engine" in refusal


@pytest.mark.parametrize("host", ["foo://bar", "tcp://", "tcp://127.0.0.1:1", "ssh://nowhere"])
def test_an_address_of_no_engine_is_said_to_be_dockers_variable(
    template: Checkout, host: str
) -> None:
    words = ("run", "--scenario", "small", "--ungated")
    refusal = refused(template.said(*words, DOCKER_HOST=host))
    assert "DOCKER_HOST: no Docker Engine answers" in refusal


@pytest.mark.parametrize("verb", [("run",), ("toolbench", "run", "x"), ("try", "x")])
def test_more_trials_than_a_plan_can_hold_are_refused_as_words(
    template: Checkout, verb: tuple[str, ...]
) -> None:
    done = template.said(*verb, "--trials", "99999999999", "--dry-run")
    assert done.returncode == 2, done.stderr
    assert "more than 10,000" in done.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ANTHROPIC_API_KEY", "sk-ant-0123456789\n"),
        ("ANTHROPIC_API_KEY", "sk-ant-0123\r\n456789"),
        ("ANTHROPIC_API_KEY", "sk-ant-“0123456789”"),
        ("ANTHROPIC_BASE_URL", "gateway.example"),
        ("ANTHROPIC_BASE_URL", "https://"),
        ("ANTHROPIC_BASE_URL", "https://gateway.example:port"),
        ("ANTHROPIC_BASE_URL", "https://gateway.example\n"),
    ],
)
def test_a_key_or_address_that_nothing_can_be_sent_with_is_named_before_anything_is_begun(
    template: Checkout, variable: str, value: str
) -> None:
    environ = {"ANTHROPIC_API_KEY": "sk-ant-0123456789", **NO_ENGINE, variable: value}
    words = ("run", "--scenario", "small", "--ungated", "--model", "claude-x")
    refusal = refused(template.said(*words, **environ))
    assert f"error: {variable} " in refusal
    assert "gateway" not in refusal and "0123" not in refusal


# --- other verbs --------------------------------------------------------------------------------


def test_a_server_is_examined_and_its_card_shown(template: Checkout) -> None:
    done = template.said("server", "check", "good", "--json")
    assert done.returncode == 0, done.stderr
    (card,) = json.loads(done.stdout)
    assert card["name"] == "good"
    assert card["canary_passed"] is True
    assert card["network_attempts"] == 0
    assert len(card["tools"]) == 8
    assert "good passes on git:" in template.said("server", "check", "good").stdout


def this_process() -> str:
    """As the label `fairtrial.owner` names it: host, number, and when it started."""
    stat = Path("/proc/self/stat").read_text()
    # The command, in brackets, may hold blanks: count the fields from its end.
    started = stat.rsplit(")", 1)[1].split()[19]
    return f"{socket.gethostname()}:{os.getpid()}:{started}"


@contextmanager
def cell_owned_by(engine: docker.DockerClient, image: str, owner: str) -> Iterator[str]:
    labels = {"fairtrial": "cell", "fairtrial.owner": owner}
    made = engine.api.create_container(image, ["true"], labels=labels)
    try:
        yield made["Id"]
    finally:
        if made["Id"] in all_containers(engine):
            engine.api.remove_container(made["Id"], force=True)


def all_containers(engine: docker.DockerClient) -> set[str]:
    return {item["Id"] for item in engine.api.containers(all=True)}


def test_clean_removes_a_dead_runners_cell_and_spares_a_living_ones(
    template: Checkout, engine: docker.DockerClient, base_image: str
) -> None:
    nobody = f"{socket.gethostname()}:999999999:1"
    with (
        cell_owned_by(engine, base_image, nobody) as dead,
        cell_owned_by(engine, base_image, this_process()) as living,
    ):
        assert template.said("clean").returncode == 0
        left = all_containers(engine)
        assert dead not in left
        assert living in left


def test_the_bare_command_says_what_it_is_for_and_what_to_try(template: Checkout) -> None:
    done = template.fairtrial()
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) < 80
    assert "Give an MCP server a fair trial" in lines[0]
    for command in ("fairtrial demo", "fairtrial try", "fairtrial ground", "--help"):
        assert command in done.stdout


@pytest.mark.parametrize("verb", ["demo", "try", "run", "report", "ground", "scenario", "server"])
def test_a_verbs_help_keeps_to_a_terminals_width(template: Checkout, verb: str) -> None:
    assert max(map(len, template.said(verb, "--help").stdout.splitlines())) <= 80


def test_help_names_every_verb_and_exit_code_in_a_terminals_width(template: Checkout) -> None:
    text = template.said("--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    verbs = ("demo", "run", "cell", "score", "report", "check", "lock", "server", "ground", "clean")
    for word in (*verbs, "70 our bug", "130 interrupted"):
        assert word in text
