"""The wrapper and CI's entry point, with stand-ins for what they would install.

Real installs take minutes and change the machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers import PATIENCE_SEC, wait_until

ROOT = Path(__file__).resolve().parents[1]
RECIPES = (
    "demo test test-llm test-agents test-planted test-page check testbed lock cell run score "
    "verify-anchors report bench bench-scale fuzz campaign simulate clean"
).split()
ENGINE_FREE = ["check", "score", "report", "verify-anchors", "lock", "clean", "--list", "--help"]
PYTHONS = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"]
CHECKOUT_FILES = [
    "justw",
    "justfile",
    "pyproject.toml",
    "locks/bootstrap.txt",
    "locks/build.txt",
    "locks/page.txt",
    "locks/requirements.txt",
]

# --- the stand-ins ------------------------------------------------------------------------------

WAIT_FOR_ALL = """\
until [ "$(cat "$SHIMS"/came.* | wc -l)" -ge "${TOGETHER:-1}" ]; do sleep 0.05; done
"""
"""Until as many wrappers as $TOGETHER have come to the lock. So the one that has it goes on only
once all the others are there to build over it."""
FAKE_PYTHON = """\
case "$1 $2" in
"-m venv")
  echo "tools" >>"$LOG"
  mkdir -p "$3/bin"
  cp "$SHIMS/python3" "$3/bin/python"
  cp "$SHIMS/uv" "$SHIMS/just" "$3/bin"
  ;;
"-m pip") ;;
*flock*)
  echo "came" >"$SHIMS/came.$$"
  exec "$REAL_PYTHON" "$@"
  ;;
*) exec "$REAL_PYTHON" "$@" ;;
esac
"""
FAKE_UV = f"""\
if [ "$1" = venv ]; then
  echo "venv" >>"$LOG"
  {WAIT_FOR_ALL}
  for last; do :; done
  mkdir -p "$last/bin"
elif [ -n "${{UV_FAILS:-}}" ]; then
  echo "no index answers" >&2
  exit 2
fi
"""
FAKE_JUST = """\
for word; do printf '[%s]' "$word"; done
echo
if [ "$(cat)" ]; then echo "had stdin"; fi
exit "${JUST_EXIT:-0}"
"""
STAND_INS = {
    # Found, so that no test installs a real one.
    "chromium": "exit 0",
    "docker": 'echo docker >>"$LOG"',
    "python3": FAKE_PYTHON,
    "uv": FAKE_UV,
    "just": FAKE_JUST,
}


@dataclass
class Wrapper:
    """A checkout with `justw` in it, and a PATH of stand-ins that write down what they did."""

    root: Path
    shims: Path

    def shim(self, name: str, body: str) -> None:
        (self.shims / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.shims / name).chmod(0o755)

    def __call__(
        self, *arguments: str, cwd: str | Path = "/", stdin: str = "</dev/null", **env: str
    ) -> subprocess.CompletedProcess[str]:
        """`stdin`: a redirection, as a shell writes it."""
        environment = {
            "PATH": f"{self.shims}:/usr/bin:/bin",
            "LOG": str(self.log),
            "SHIMS": str(self.shims),
            "REAL_PYTHON": os.path.realpath(sys.executable),
            **env,
        }
        command = f'exec "$0" "$@" {stdin}'
        return subprocess.run(
            ["/bin/sh", "-c", command, str(self.root / "justw"), *arguments],
            env=environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SEC,
            check=False,
        )

    def together(self, recipe: str, times: int) -> list[subprocess.CompletedProcess[str]]:
        """The recipe several times at once, each with its own wrapper."""
        with ThreadPoolExecutor(times) as pool:
            return list(pool.map(lambda _: self(recipe, TOGETHER=str(times)), range(times)))

    @property
    def log(self) -> Path:
        return self.shims / "log"

    def did(self) -> list[str]:
        """What the stand-ins did, oldest first."""
        if not self.log.exists():
            return []
        return self.log.read_text().split()


@pytest.fixture
def justw(tmp_path: Path) -> Wrapper:
    # Blanks in the folder's name: a forgotten quote in the script shows.
    wrapper = Wrapper(tmp_path / "a check out", tmp_path / "shims")
    wrapper.shims.mkdir()
    for name in CHECKOUT_FILES:
        target = wrapper.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    for name, body in STAND_INS.items():
        wrapper.shim(name, body)
    return wrapper


def without_engine(justw: Wrapper, *, uid: int, system: str = "Linux") -> None:
    justw.shim("docker", "exit 1")
    justw.shim("id", f"echo {uid}")
    justw.shim("uname", f"echo {system}")


# --- what it passes on ----------------------------------------------------------------------


def test_the_recipe_gets_its_words_whole_from_any_folder_and_its_exit_code_comes_back(
    justw: Wrapper, tmp_path: Path
) -> None:
    done = justw("run", "two words", "", "$HOME", cwd=tmp_path, JUST_EXIT="7")
    where = f"[--justfile][{justw.root}/justfile][--working-directory][{justw.root}]"
    assert (done.returncode, done.stdout) == (7, f"{where}[run][two words][][$HOME]\n")


def test_a_closed_stdin_does_not_become_the_recipes_input(justw: Wrapper) -> None:
    done = justw("score", stdin="<&-")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)


def test_the_second_time_it_makes_and_says_nothing(justw: Wrapper) -> None:
    assert justw("score").stderr.splitlines() == [
        "justw: getting uv and just (once)",
        "justw: building .venv from locks/requirements.txt (once per change of it)",
    ]
    assert justw("score").stderr == ""
    assert justw.did() == ["tools", "venv"]


@pytest.mark.parametrize("name", ["pyproject.toml", "locks/requirements.txt"])
def test_a_changed_lock_makes_a_new_environment(justw: Wrapper, name: str) -> None:
    justw("score")
    (justw.root / ".venv/old").touch()
    with (justw.root / name).open("a") as file:
        file.write("# changed\n")
    justw("score")
    assert not (justw.root / ".venv/old").exists()
    assert not list(justw.root.glob(".venv.*"))


def test_a_moved_checkout_makes_a_new_environment(justw: Wrapper) -> None:
    justw("score")
    justw.root = justw.root.rename(justw.root.with_name("moved"))
    justw("score")
    assert justw.did().count("venv") == 2


# --- two at once, and killed half-way -------------------------------------------------------


def test_several_at_once_build_once(justw: Wrapper) -> None:
    done = justw.together("score", 4)
    assert [one.returncode for one in done] == [0] * 4
    assert justw.did() == ["tools", "venv"]


def test_a_build_that_failed_or_was_killed_leaves_no_environment_that_looks_whole(
    justw: Wrapper,
) -> None:
    failed = justw("score", UV_FAILS="1")
    assert (failed.returncode != 0, "no index answers" in failed.stderr) == (True, True)
    assert failed.stdout == ""
    assert not (justw.root / ".venv").exists()
    # What a killed build leaves.
    (justw.root / ".venv.new/bin").mkdir(parents=True, exist_ok=True)
    assert justw("score").returncode == 0
    assert (justw.root / ".venv/stamp").exists()


# --- the engine -----------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ENGINE_FREE)
def test_a_recipe_that_needs_no_engine_never_asks_for_one(justw: Wrapper, recipe: str) -> None:
    without_engine(justw, uid=1000)
    assert justw(recipe).returncode == 0
    assert "docker" not in justw.did()


@pytest.mark.parametrize(
    "recipe", ["demo", "test", "test-planted", "testbed", "cell", "run", "bench", "campaign"]
)
def test_no_engine_and_no_root_ends_with_what_is_missing_and_how_to_get_it(
    justw: Wrapper, recipe: str
) -> None:
    without_engine(justw, uid=1000)
    done = justw(recipe)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"justw: no Docker Engine answers, and only root .*\nhint: run this as root once, or .*\n",
        done.stderr,
    )
    assert not (justw.root / ".venv").exists()


def test_a_mac_without_docker_is_told_what_to_install(justw: Wrapper) -> None:
    without_engine(justw, uid=501, system="Darwin")
    done = justw("demo")
    assert (done.returncode, done.stderr) == (
        1,
        "justw: no Docker Engine answers\n"
        "hint: install and start Docker Desktop, OrbStack or Colima, then run this again\n",
    )


def test_an_engine_that_the_user_chose_is_never_replaced_by_one_of_ours(justw: Wrapper) -> None:
    without_engine(justw, uid=0)
    justw.shim("dockerd", 'echo dockerd >>"$LOG"')
    assert justw("demo", DOCKER_HOST="tcp://192.0.2.1:2375").returncode == 1
    assert justw.did() == []


def test_root_gets_the_installed_engine_started_once_and_is_told(justw: Wrapper) -> None:
    without_engine(justw, uid=0)
    justw.shim("docker", 'test -e "$SHIMS/up"')
    # The second is time for a wrapper that heeds no lock to start an engine of its own.
    start = f'echo engine >>"$LOG"\n{WAIT_FOR_ALL}\nsleep 1; touch "$SHIMS/up"'
    for name in ("dockerd", "systemctl"):
        justw.shim(name, start)
    done = justw.together("demo", 2)
    assert [one.returncode for one in done] == [0, 0]
    assert justw.did().count("engine") == 1
    assert "justw: starting " in done[0].stderr + done[1].stderr


COMMANDS = "sh env cat cksum dirname mkdir rm mv cp sleep tail timeout tr chmod touch wc".split()
"""What a bare Debian has, of what `justw` and the stand-ins call."""
FAKE_APT = """\
echo "$@" | tr " " "\\n" >>"$LOG"
printf "#!/bin/sh\\n" >"$SHIMS/docker"
cp "$SHIMS/docker" "$SHIMS/dockerd"
chmod +x "$SHIMS"/docker*
"""


def test_root_without_an_engine_gets_the_distributions(justw: Wrapper) -> None:
    without_engine(justw, uid=0)
    (justw.shims / "docker").unlink()
    justw.shim("apt-get", FAKE_APT)
    # No other folder on PATH: this machine's own docker would be found there.
    for name in COMMANDS:
        (justw.shims / name).symlink_to(shutil.which(name) or "")
    done = justw("demo", PATH=str(justw.shims))
    assert done.returncode == 0
    assert "installing the distribution's docker.io" in done.stderr
    installed = {"update", "install", "--no-install-recommends", "docker.io", "debootstrap"}
    assert installed <= set(justw.did())


# --- the browser ----------------------------------------------------------------------------


def without_browser(justw: Wrapper, apt: str) -> str:
    """PATH of a machine that has an engine and no browser."""
    (justw.shims / "chromium").unlink()
    justw.shim("apt-get", apt)
    justw.shim("id", "echo 0")
    for name in COMMANDS:
        (justw.shims / name).symlink_to(shutil.which(name) or "")
    return str(justw.shims)


@pytest.mark.parametrize("recipe", ["test", "test-page"])
def test_root_gets_the_distributions_browser_for_the_tests_of_the_page(
    justw: Wrapper, recipe: str
) -> None:
    path = without_browser(justw, f'{FAKE_APT}cp "$SHIMS/docker" "$SHIMS/chromium"')
    done = justw(recipe, PATH=path)
    assert done.returncode == 0
    assert "installing the distribution's chromium" in done.stderr
    assert {"update", "install", "chromium"} <= set(justw.did())
    assert "chromium" not in justw(recipe, PATH=path).stderr


def test_without_a_browser_to_be_had_the_tests_run_all_the_same(justw: Wrapper) -> None:
    done = justw("test", PATH=without_browser(justw, 'echo "no mirror answers"; exit 100'))
    assert (done.returncode, "[test]" in done.stdout) == (0, True)
    assert "no mirror answers" in done.stderr


def test_no_other_recipe_asks_for_a_browser(justw: Wrapper) -> None:
    path = without_browser(justw, FAKE_APT)
    assert justw("score", PATH=path).returncode == 0
    assert "chromium" not in justw.did()


# --- Python ---------------------------------------------------------------------------------


def test_a_machine_without_a_new_enough_python_is_told_so(justw: Wrapper) -> None:
    for name in PYTHONS:
        justw.shim(name, "exit 1")
    done = justw("score")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1,
        "justw: Python 3.11 or newer is missing",
    )


# --- the justfile and CI --------------------------------------------------------------------


def test_the_recipes_read_like_a_table_of_contents() -> None:
    text = (ROOT / "justfile").read_text()
    documented = re.findall(r"^# (.+)\n([a-z-]+)[^:\n]*:$", text, re.MULTILINE)
    assert [name for _, name in documented] == RECIPES
    assert re.findall(r"^([a-z][a-z-]*)[^:\n]*:$", text, re.MULTILINE) == RECIPES


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "3600"]) as process:
        yield process
        process.kill()


@pytest.fixture
def ci(tmp_path: Path) -> Path:
    """A checkout with `.ci/run` and no `justw` yet."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".fairtrial").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    return tmp_path


def run_ci(ci: Path, justw: str) -> subprocess.CompletedProcess[str]:
    """`.ci/run` with a `justw` of that body."""
    # From another folder and with next to no environment, as a CI service may start it.
    (ci / "justw").write_text(f"#!/bin/sh\n{justw}\n")
    (ci / "justw").chmod(0o755)
    return subprocess.run(
        [ci / ".ci/run"],
        cwd="/",
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SEC,
        check=False,
    )


def is_gone(pid: str) -> bool:
    """Also if its parent has not taken note of its end yet: such a process has no command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() == b""
    except (FileNotFoundError, ProcessLookupError):
        return True


def failing_tests(names: Sequence[str], again: int) -> str:
    """A `justw` whose tests fail with 3, and with `again` when asked once more."""
    listed = json.dumps(dict.fromkeys(names, True), indent=1)
    return f"""\
echo "$CI $*"
if [ "$1" != test ]; then exit 4; fi
if [ "$#" != 1 ]; then exit {again}; fi
sleep 3600 >/dev/null 2>&1 &
echo $! | tee .fairtrial/dockerd.pid
mkdir -p .pytest_cache/v/cache
echo '{listed}' >.pytest_cache/v/cache/lastfailed
exit 3
"""


ONE = ["tests/test_x.py::test_y"]
AGAIN = "true test -n 0 --last-failed"


def test_ci_ends_with_the_tests_code_and_stops_the_daemon_they_started(ci: Path) -> None:
    done = run_ci(ci, failing_tests(ONE, again=5))
    assert done.returncode == 5
    # The end of what it prints is what a record of CI keeps.
    asked, named = done.stdout.split("failed:\n")
    first, pid, *then = asked.splitlines()
    assert [first, *then] == ["true test", AGAIN, "true verify-anchors"]
    assert json.loads(named) == {ONE[0]: True}
    wait_until(lambda: is_gone(pid), "the daemon was gone")
    assert not (ci / ".fairtrial/dockerd.pid").exists()


def test_ci_names_a_test_that_passes_only_when_asked_once_more(ci: Path) -> None:
    done = run_ci(ci, failing_tests(ONE, again=0))
    assert done.returncode == 4, "the gate's"
    assert ONE[0] in done.stdout
    assert "once more, alone" in done.stdout


@pytest.mark.parametrize("names", [[], [f"tests/test_x.py::test_{n}" for n in range(4)]])
def test_ci_asks_once_more_neither_for_many_failures_nor_for_lint(
    ci: Path, names: list[str]
) -> None:
    done = run_ci(ci, failing_tests(names, again=0))
    assert done.returncode == 3
    assert AGAIN not in done.stdout


def test_ci_ends_with_the_gates_code_if_the_tests_pass(ci: Path) -> None:
    assert run_ci(ci, '[ "$1" = test ] || exit 4').returncode == 4


def test_ci_leaves_a_process_alone_whose_number_an_earlier_run_wrote_down(
    ci: Path, bystander: subprocess.Popen[bytes]
) -> None:
    (ci / ".fairtrial/dockerd.pid").write_text(str(bystander.pid))
    assert run_ci(ci, "exit 0").returncode == 0
    assert bystander.poll() is None
