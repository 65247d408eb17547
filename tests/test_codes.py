"""Exit codes: what the user can mend is 1 with a hint, whoever still reads what is said."""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import pytest
import requests
import urllib3

from runner.records.run_store import RunStore
from runner.sandbox.engine import lost, owner_is_gone
from tests.checkout import ROOT, Checkout, make
from tests.helpers import PATIENCE_SEC, wait_until
from tests.report.loaded import small_run
from tests.sandbox.cut_engine import cut_engine

REPORT = ("report", "r", "--ungated")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """With a run `r`, one of whose cells is measured and the others not."""
    made = make(tmp_path_factory.mktemp("codes") / "checkout")
    run = small_run()
    store = RunStore(made.run_folder("r"))
    store.write_plan(run.plan)
    for item in run.cells[:2]:
        assert item.result is not None
        store.finish(store.begin(item.cell), item.result)
    return made


@pytest.fixture
def checkout(template: Checkout, tmp_path: Path) -> Checkout:
    root = tmp_path / "checkout"
    shutil.copytree(template.root, root, symlinks=True)
    return Checkout(root, template.commit)


def shell(
    checkout: Checkout, *arguments: str, before: str = "", after: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """The command in a shell's line, with what redirects its streams behind it."""
    line = f"{before} {shlex.join(checkout.argv(*arguments))} {after}"
    return subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SEC,
        check=False,
    )


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """What is said as the command ends with something the user can mend."""
    assert done.returncode == 1, done.stderr
    assert "error: " in done.stderr and "hint: " in done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


# --- who reads ------------------------------------------------------------------------------


@pytest.mark.parametrize("after", ["2> >(exit 0)", "2>/dev/full", "| head -1"])
def test_a_run_that_is_not_measured_ends_in_1_whoever_reads(template: Checkout, after: str) -> None:
    done = shell(template, *REPORT, before="set -o pipefail;", after=after)
    assert done.returncode == 1, done.stderr
    assert "Broken" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize("after", ["", "2>&-", "| true"])
def test_a_verb_that_succeeds_ends_in_0_whoever_reads(template: Checkout, after: str) -> None:
    done = shell(template, "server", "list", before="set -o pipefail;", after=after)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("after", [">&-", ">/dev/full"])
@pytest.mark.parametrize("arguments", [("server", "list"), ("lock", "--check"), ("--help",)])
def test_a_result_that_is_lost_is_told(
    template: Checkout, arguments: tuple[str, ...], after: str
) -> None:
    assert "could not be written to stdout" in refusal(shell(template, *arguments, after=after))


def test_with_every_stream_closed_no_file_gets_what_is_said(checkout: Checkout) -> None:
    assert shell(checkout, *REPORT, after="<&- >&- 2>&-").returncode == 1
    assert (checkout.run_folder("r") / "report.json").read_text().startswith("{")


# --- what is in the way ---------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [REPORT, ("check",), ("lock",), ("score", "r")])
@pytest.mark.parametrize("folder", ["runs", ".fairtrial", "locks", "scenarios"])
def test_a_file_where_a_folder_is_expected_is_the_users(
    checkout: Checkout, folder: str, arguments: tuple[str, ...]
) -> None:
    shutil.rmtree(checkout.root / folder)
    (checkout.root / folder).write_text("x")
    done = checkout.said(*arguments)
    assert done.returncode in (0, 1), done.stderr
    if done.returncode and "not measured" not in done.stderr:
        assert "hint: " in done.stderr or "FAIL" in done.stdout


@pytest.mark.parametrize(
    "arguments", [REPORT, ("check",), ("lock",), ("server", "list"), ("verify-anchors",)]
)
@pytest.mark.parametrize("root", ["nowhere", "Dockerfile"])
def test_a_root_that_is_no_folder_is_refused(
    checkout: Checkout, root: str, arguments: tuple[str, ...]
) -> None:
    done = Checkout(checkout.root / root, checkout.commit).said(*arguments)
    assert done.returncode in (1, 3), done.stderr
    assert "hint: " in done.stderr


@pytest.mark.parametrize(
    "arguments", [("lock",), ("anchors", "accept", "--reason", "x")], ids=["lock", "accept"]
)
def test_what_ships_is_locked_from_no_other_folder(
    checkout: Checkout, arguments: tuple[str, ...]
) -> None:
    done = Checkout(checkout.root / "upstream", checkout.commit).said(*arguments)
    assert done.returncode == 1
    assert "what ships is not locked from here" in done.stderr
    assert "hint: run it in a checkout" in done.stderr


@pytest.mark.parametrize("name", ["Big", "a b", "../x", "a/b", "x" * 65, "é", "-x", "."])
def test_a_name_that_no_run_can_have_is_refused_before_anything_is_made(
    template: Checkout, name: str
) -> None:
    done = template.said("run", f"--run={name}", "--scenario", "small", "--ungated")
    assert "no run can be called that" in refusal(done)


def test_copies_and_stray_files_in_a_runs_folders_are_no_attempts(checkout: Checkout) -> None:
    before = json.loads(checkout.said(*REPORT, "--json").stdout)
    for cell in checkout.run_folder("r").glob("cells/*"):
        shutil.copytree(cell / "attempt-1", cell / "attempt-1.bak")
        (cell / "attempt-2").write_text("x")
        (cell / "attempt-").mkdir()
        (cell / "stray").write_text("x")
    (checkout.run_folder("r") / "cells" / "stray").write_text("x")
    done = checkout.said(*REPORT, "--json")
    after = json.loads(done.stdout)
    assert done.returncode == 1, "what lies there is named, and ends in 1"
    assert len(after["contradictions"]) > len(before["contradictions"])
    for said in (before, after):
        del said["contradictions"], said["notices"], said["not_concluded"]
    assert after == before


def test_without_git_the_user_is_told_to_install_it(template: Checkout, tmp_path: Path) -> None:
    ground = ("ground", "--repo", str(template.root / "upstream"), "--commit", template.commit)
    for arguments in (("check",), ("lock",), (*ground, str(template.root / "Dockerfile"))):
        # The command itself is a script for a shell, which would need more of PATH.
        argv = [sys.executable, "-m", "runner.cli.main", *template.argv(*arguments)[1:]]
        done = subprocess.run(
            argv,
            env={**os.environ, "PATH": str(tmp_path)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SEC,
            check=False,
        )
        assert "git is not installed" in refusal(done)


@contextmanager
def refusing(number: int, part: str) -> Iterator[None]:
    """The system, for a user who is root: it refuses what has `part` in its path."""

    def refused(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *more: Any, **options: Any) -> Any:
            if part in str(path):
                raise OSError(number, os.strerror(number), str(path))
            return real(path, *more, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("mkdir", "open", "rename", "replace", "scandir", "listdir"):
            patch.setattr(os, name, refused(getattr(os, name)))
        patch.setattr(io, "open", refused(io.open))
        patch.setattr("builtins.open", io.open)
        yield


@pytest.mark.parametrize(
    ("part", "arguments"),
    [
        ("/runs/", REPORT),
        ("/runs/", ("score", "r")),
        ("/runs", ("run", "--run", "n", "--scenario", "small", "--ungated")),
        ("/.fairtrial", ("check",)),
        ("/.fairtrial", ("lock",)),
        ("/repos.lock", ("lock",)),
        ("/scenarios/", ("check",)),
        ("/server.yaml", ("server", "check", "good")),
        ("/images.lock", ("lock", "--check")),
    ],
)
def test_what_the_system_refuses_is_the_users_to_mend(
    checkout: Checkout, part: str, arguments: tuple[str, ...], number: int = errno.EROFS
) -> None:
    shutil.rmtree(checkout.root / ".fairtrial", ignore_errors=True)
    with refusing(number, part):
        done = checkout.said(*arguments)
    assert done.returncode == 1, done.stderr
    assert "our bug" not in done.stderr and "a bug of ours" not in done.stderr
    assert "hint: " in done.stderr or "FAIL" in done.stdout


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC])
def test_another_refusal_of_the_system_is_the_users_too(checkout: Checkout, number: int) -> None:
    test_what_the_system_refuses_is_the_users_to_mend(checkout, "/runs/", REPORT, number)


# --- half-written folders -------------------------------------------------------------------


def half_a_server(checkout: Checkout, text: str | None) -> None:
    half = checkout.root / "images/servers/half"
    half.mkdir()
    if text is not None:
        (half / "server.yaml").write_text(text)


@pytest.mark.parametrize("text", [None, "", "name: [", "name: half\n", "\x00"])
def test_a_half_written_server_is_named_beside_the_sound_ones(
    checkout: Checkout, text: str | None
) -> None:
    half_a_server(checkout, text)
    done = checkout.said("server", "list")
    assert (done.returncode, done.stdout.split()[0]) == (0, "good")
    assert "broken: half: images/servers/half/server.yaml" in done.stderr


def test_half_a_server_and_half_a_scenario_stop_only_who_needs_them(checkout: Checkout) -> None:
    half_a_server(checkout, None)
    assert checkout.said("lock", "--check").returncode == 0
    (checkout.root / "scenarios/core/half").mkdir()
    assert checkout.said("server", "list").returncode == 0
    assert "half" not in checkout.said("check", "small").stdout
    assert "cells are not measured" in checkout.said(*REPORT).stderr
    checked = checkout.said("check")
    assert checked.returncode == 1
    for line in ("FAIL images/servers/half", "FAIL core/half", " core/small"):
        assert line in checked.stdout
    run = ("run", "--run", "n", "--scenario", "small", "--ungated", "--server", "half")
    assert "images/servers/half/server.yaml" in refusal(checkout.said(*run))
    (checkout.root / "images/servers/half").rmdir()
    assert "scenarios/core/half" in refusal(checkout.said("run", "--ungated"))


# --- signals while images and volumes are made ready ------------------------------------------


@pytest.fixture
def installing(checkout: Checkout, engine: docker.DockerClient) -> Iterator[Checkout]:
    """A checkout whose server takes its time to install."""
    # Hashing that many bytes, in one file, is what the builder is killed in.
    checkout.add_server("big", "good", files={"server.py": "x = 1\n" * 20_000})
    yield checkout
    checkout.remove(engine)


def builders_of(engine: docker.DockerClient, process: int) -> list[str]:
    found = engine.api.containers(all=True, filters={"label": "fairtrial=builder"})
    mark = f":{process}:"
    return [item["Id"] for item in found if mark in item["Labels"].get("fairtrial.owner", "")]


def wait_for_a_builder_of(engine: docker.DockerClient, process: subprocess.Popen[bytes]) -> None:
    wait_until(
        lambda: bool(builders_of(engine, process.pid)) or process.poll() is not None,
        "a builder was made",
    )


@pytest.mark.docker
def test_a_signal_while_a_run_is_prepared_ends_in_130_with_nothing_left(
    installing: Checkout, engine: docker.DockerClient, base_image: str
) -> None:
    run = ("run", "--run", "n", "--scenario", "small", "--server", "big", "--ungated")
    heed = (
        "import os, signal, sys;"
        "signal.signal(signal.SIGINT, signal.SIG_DFL);"
        # Under nohup it would be ignored.
        "signal.signal(signal.SIGHUP, signal.SIG_DFL);"
    )
    argv = [sys.executable, "-c", f"{heed} os.execv(sys.argv[1], sys.argv[1:])"]
    # One after the other in one checkout: a run that goes on proves that each left nothing behind.
    for numbers in (("SIGTERM",), ("SIGHUP",), ("SIGINT", "SIGTERM", "SIGINT")):
        with subprocess.Popen([*argv, *installing.argv(*run)], stderr=subprocess.PIPE) as process:
            wait_for_a_builder_of(engine, process)
            for number in numbers:
                process.send_signal(getattr(signal, number))
            _, errors = process.communicate(timeout=PATIENCE_SEC)
        assert process.returncode == 130, (numbers, errors)
        assert b"interrupted: " in errors and b"Traceback" not in errors
        assert builders_of(engine, process.pid) == []
    done = installing.said(*run)
    assert done.returncode in (0, 1), done.stderr
    assert "our bug" not in done.stderr


@pytest.mark.docker
def test_an_engine_that_is_lost_between_any_two_calls_is_no_bug_of_ours(
    installing: Checkout, engine: docker.DockerClient, base_image: str, tmp_path: Path
) -> None:
    assert base_image
    run = ("run", "--run", "n", "--scenario", "small", "--server", "shell", "--ungated")
    with cut_engine(engine, tmp_path) as (proxy, _):
        for calls in (0, 2, 3, 5, 21):
            proxy.requests_left = calls
            said = refusal(shell(installing, *run, DOCKER_HOST=proxy.url))
            assert "bug" not in said and proxy.requests_left < 0, calls
        proxy.requests_left = None
        assert shell(installing, *run, DOCKER_HOST=proxy.url).returncode == 0


def test_only_a_broken_connection_is_taken_for_a_lost_engine() -> None:
    cut = requests.ConnectionError("cut")
    assert "stopped answering" in str(lost(cut))
    assert lost(ConnectionResetError()) and lost(urllib3.exceptions.ProtocolError())
    assert lost(ValueError("a bug")) is None and lost(FileNotFoundError()) is None
    assert lost(requests.HTTPError("400: a bug")) is None


@pytest.mark.docker
def test_a_run_sweeps_the_builders_of_a_killed_preparation(
    installing: Checkout, engine: docker.DockerClient, base_image: str
) -> None:
    run = ("run", "--run", "n", "--scenario", "small", "--server", "shell", "--ungated")
    with subprocess.Popen(installing.argv(*run), stderr=subprocess.DEVNULL) as process:
        wait_for_a_builder_of(engine, process)
        process.kill()
    assert installing.said(*run).returncode == 0
    assert builders_of(engine, process.pid) == []
    assert owner_is_gone({"fairtrial.owner": "elsewhere:1:1"}) is False


@pytest.mark.docker
def test_an_edited_server_is_told_how_a_new_run_begins(
    installing: Checkout, engine: docker.DockerClient, base_image: str
) -> None:
    run = ("run", "--scenario", "small", "--server", "good", "--ungated")
    assert installing.said(*run).returncode == 0
    installing.edit("images/servers/good/server.yaml", "version: '1.0'", "version: '1.1'")
    said = refusal(installing.said(*run))
    (name,) = [word.strip("`") for word in said.split() if word.endswith("-2`")]
    again = installing.said(*run, "--run", name)
    assert again.returncode == 0, again.stderr
