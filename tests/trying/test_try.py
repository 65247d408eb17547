"""`fairtrial try`, `server tools` and `server call`: the real command, on a small repository."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from runner.records import ServerSpec, parse_yaml
from runner.sandbox.engine import LABEL
from tests.checkout import REFERENCE, RUBRIC, SESSION, Checkout, git, make, said, scenario
from tests.helpers import PATIENCE_SEC
from tests.proposing.trees import commit

SERVER = (Path(__file__).parent / "server.py.txt").read_text() + f"# try {SESSION}\n"

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient
) -> Iterator[Checkout]:
    checkout = make(tmp_path_factory.mktemp("try"))
    (checkout.root / "wanting.py").write_text(SERVER)
    yield checkout
    remove_volumes(engine, "wanting")
    checkout.remove_images(engine)


def remove_volumes(engine: docker.DockerClient, server: str) -> None:
    """What a server that was tried under this name was installed into."""
    for volume in engine.volumes.list(filters={"label": LABEL}):
        if f"{LABEL}-server-{server}-" in str(volume.name):
            engine.api.remove_volume(volume.name, force=True)


def command(made: Checkout, mode: str) -> list[str]:
    return ["--", "python3", str(made.root / "wanting.py"), mode]


def tried(made: Checkout, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """What a try of the small scenario says, and that it ends so."""
    done = made.said("try", "--scenario", "small", *arguments)
    assert done.returncode == code, done.stderr
    return done


def saved_in(folder: Path) -> tuple[ServerSpec, Path]:
    """The one definition that was saved there, and its folder."""
    (found,) = (folder / "images/servers").iterdir()
    return parse_yaml((found / "server.yaml").read_text(), ServerSpec, where="saved"), found


def test_one_command_goes_from_a_server_to_a_screen_and_saves_what_it_found(
    made: Checkout, tmp_path: Path
) -> None:
    saved = tmp_path / "mine"
    options = ["--scenario", "small", "--save", str(saved)]
    done = made.fairtrial("try", *options, *command(made, "index"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines[:-2])) <= 80
    assert lines[-2].startswith(
        "next: fairtrial try --model claude-ID --scenario=small -- python3 "
    )
    assert len(lines) <= 24
    assert "its tools were called" in done.stdout
    assert "2/6 starting it" in done.stderr
    assert "--warm-up TOOL JSON overrides it" in done.stderr
    assert "none of the server's tools" not in done.stderr
    assert [path.name for path in saved.iterdir()] == ["images"]
    spec, _ = saved_in(saved)
    assert spec.warm_up[0].call is not None
    assert spec.warm_up[0].call.tool == "index_project"
    assert spec.canaries[0].contains.startswith("app.py:")


LEDGER = """\
class LedgerBook:
    def balance_of_account(self, account):
        return sum(self.entries_of_account(account))

    def entries_of_account(self, account):
        return [entry for entry in self.entries if entry.account == account]
"""


def add_scenario(made: Checkout, name: str, file: str, text: str) -> None:
    """A second repository with a question, as one that ships."""
    upstream = made.root / name
    pinned = commit(upstream, {file: text}, f"commit in {upstream}")
    source = {"kind": "git", "url": f"file://{upstream}", "commit": pinned}
    folder = f"scenarios/core/{name}"
    given = scenario("", "", id=name, repository=source, language="python")
    made.write(f"{folder}/scenario.yaml", given)
    made.write(f"{folder}/rubric.yaml", RUBRIC)
    made.write(f"{folder}/reference/1.md", REFERENCE)


def test_a_saved_server_has_a_proven_probe_for_each_repository_that_shows_one(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    made = make(tmp_path / "checkout")
    (made.root / "wanting.py").write_text(SERVER)
    add_scenario(made, "ledger", "ledger.py", LEDGER)
    add_scenario(made, "prose", "notes.md", "Nothing here is code.\n")
    locked = made.said("lock")
    assert locked.returncode == 0, locked.stderr
    saved = tmp_path / "mine"
    try:
        done = tried(made, "--dry-run", "--save", str(saved), *command(made, "good"))
        assert "one health probe lets a run compare on one repository" in done.stderr
        said = done.stderr.splitlines()
        (reach,) = [number for number, line in enumerate(said) if "compares on 2 of 3" in line]
        assert said[reach].endswith("ledger, small")
        assert said[reach + 1].startswith("  left out: prose: no symbol is defined once")
        assert said.index(next(it for it in said if it.startswith("saved"))) < reach
    finally:
        made.remove_images(engine)
    spec, _ = saved_in(saved)
    assert [canary.contains.split(":")[0] for canary in spec.canaries] == ["app.py", "ledger.py"]
    assert len({canary.repository for canary in spec.canaries}) == 2


def test_an_interrupted_try_is_begun_again_where_it_was(made: Checkout) -> None:
    asked = ["try", "--scenario", "small", "--dry-run", *command(made, "flag")]
    argv = made.argv(*asked)
    printed = []
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            printed.append(line)
            if line.startswith("3/6"):
                process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_SEC)
    assert process.returncode == 130, "".join(printed)
    again = made.said(*asked)
    assert again.returncode == 0, again.stderr
    assert re.search(r"^offline, \d+ cells$", again.stdout, re.MULTILINE), "what it would take"
    assert "going on from the last try with these words" in again.stderr
    ways = [line for line in again.stderr.splitlines() if "did not start" in line]
    assert not ways, "the way that works is known"
    others = made.said(*asked[:-1], "argument")
    assert "going on" not in others.stderr
    assert others.returncode == 0, others.stderr


def test_a_folder_that_it_may_write_can_be_said_beforehand(made: Checkout) -> None:
    done = tried(made, "--dry-run", "--private", "logs", *command(made, "own-node"))
    assert "a write was refused" not in done.stderr
    for outside in ("/etc", "../x", "."):
        refused = tried(made, "--private", outside, *command(made, "good"), code=1)
        assert "it is no folder in the repository" in refused.stderr
    # It writes a database of that name.
    refused = tried(made, "--private", "own.db", *command(made, "own-database"), code=1)
    assert "hint: --private own.db lends it a folder, and it may want a file" in refused.stderr


def test_a_server_that_shows_nothing_ends_it_with_what_to_say_and_can_be_asked_by_hand(
    made: Checkout,
) -> None:
    done = tried(made, *command(made, "facade"), code=1)
    assert "run_step" in done.stderr
    assert "--probe TOOL" in done.stderr
    listed = made.said("server", "tools", "wanting", "--scenario", "small")
    assert listed.stdout.splitlines()[0] == "run_step (writes)"
    called = made.said(
        "server", "call", "wanting", "run_step", '{"handle": "x"}', "--scenario", "small"
    )
    assert (called.returncode, called.stderr.splitlines()[-1][:8]) == (1, "an error")


def test_a_server_whose_tools_nobody_could_call_ends_it_with_what_was_learnt_and_no_error(
    made: Checkout,
) -> None:
    by_hand = ["--probe", "get_ticket", '{"handle": "T-1"}', "app.py:5"]
    done = made.fairtrial("try", "--scenario", "small", *by_hand, *command(made, "tickets"))
    assert done.returncode == 0, done.stderr
    assert "1 tool, about" in done.stdout
    assert "get_ticket needs handle, of which nothing is known" in done.stdout
    assert "nothing follows about the server" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1].startswith("next: fairtrial try --model claude-ID --scen")
    assert "4/6" in done.stderr and "5/6" not in done.stderr


def test_a_handle_of_one_session_can_be_asked_with_by_hand(made: Checkout) -> None:
    asked = '{"name": "finish_up", "repo": "{answer.repo}"}'
    options = ["--dry-run", "--probe", "find_symbol", asked, "app.py:5"]
    told = ["--warm-up", "index_project", '{"path": "{workspace}"}']
    tried(made, *options, *told, *command(made, "random"))
    called = made.said("server", "call", "wanting", "find_symbol", asked, "--scenario", "small")
    assert "app.py:5" in called.stdout
    refused = tried(made, *options, *command(made, "random"), code=1)
    assert "{answer.repo}: no warm-up call is made before it" in refused.stderr


def test_where_a_canary_fails_in_a_fresh_cell_one_of_another_tool_is_looked_for(
    made: Checkout,
) -> None:
    done = tried(made, "--dry-run", *command(made, "leans"))
    first, second = re.findall(r"guessed: health probe (\w+) ", done.stderr)
    assert (first, second) == ("find_symbol", "read_text")
    assert "then fails: looking for a health probe of another tool" in done.stderr
    by_hand = ["--probe", "find_symbol", '{"name": "finish_up"}', "app.py:5"]
    kept = tried(made, "--dry-run", *by_hand, *command(made, "leans"), code=1)
    assert "passes 1 times of 2, then fails" in kept.stderr
    assert "another tool" not in kept.stderr


def test_a_repository_of_ones_own_in_a_language_that_ships_no_scenario(
    made: Checkout, tmp_path: Path
) -> None:
    total = "\tsum := 0\n\tfor _, item := range items {\n\t\tsum += item\n\t}\n\treturn sum\n"
    files = {"shop.go": f"package shop\n\nfunc total_price(items []int) int {{\n{total}}}\n"}
    for name in ("till", "bill", "stock"):
        files[f"{name}.go"] = (
            f"package shop\n\nfunc {name}_opening(items []int) int {{\n"
            f"\treturn total_price(items) + 1\n}}\n\n"
            f"func {name}_closing(items []int) int {{\n\treturn total_price(items) - 1\n}}\n"
        )
    folder = tmp_path / "private-thing"
    commit(folder, files)
    done = made.said("try", "--repo", str(folder), *command(made, "any"))
    assert done.returncode == 0, done.stderr
    # Questions whose answer the tree proves: nobody has to review them before they are scored.
    screen = " ".join(done.stdout.split())
    assert "questions about this repository" in screen, screen
    asked = r"Of the places that \d+ questions about this repository ask for, a text search"
    assert re.search(asked, screen)
    assert "not compared" not in screen
    # The next command repeats the words that were typed; no other line names the folder.
    assert "private-thing" not in done.stdout.partition("\nnext: ")[0]
    assert git(made.root / "upstream", "status", "--porcelain") == ""
    # A try about something else leaves its report what it needs.
    run = Path(done.stdout.split()[-1]).parent
    tried(made, *command(made, "any"))
    again = said(["--root", str(run.parents[1]), "report", run.name])
    assert again.returncode == 0, again.stderr


def python_folder(folder: Path, mode: str, project: str, *, beginning: str = "") -> str:
    """A project of Python whose program is the server in this mode.

    `project`: lines of its pyproject.toml; `beginning`: of its program's file.
    """
    folder.mkdir()
    (folder / "inner.py").write_text(SERVER)
    (folder / "outer.py").write_text(
        f"import runpy, sys\n{beginning}\n\ndef main() -> None:\n"
        f"    sys.argv[1:] = ['{mode}']\n    runpy.run_module('inner', run_name='__main__')\n"
    )
    (folder / "pyproject.toml").write_text(
        f'[project]\nname = "wanting"\nscripts.wanting = "outer:main"\n{project}'
    )
    return str(folder)


def test_a_folder_that_asks_for_a_newer_python_is_started_by_it(
    made: Checkout, tmp_path: Path
) -> None:
    project = 'version = "0.3.0"\nrequires-python = ">=3.12"\ndependencies = ["iniconfig"]\n'
    # What no Python before 3.12 reads.
    newer = "\ntype Text = str\n"
    folder = python_folder(tmp_path / "wanting", "any", project, beginning=newer)
    saved = tmp_path / "mine"
    done = tried(made, "--dry-run", "--save", str(saved), folder)
    assert "Python 3.13, as it asks for one so new" in done.stderr
    spec, written = saved_in(saved)
    assert spec.python == "3.13"
    # Ours has a version, and no package of its name: the lock is its own all the same.
    assert "0.3.0+local" in (written / "server.yaml").read_text()
    assert "iniconfig==" in (written / "requirements.txt").read_text()


def test_where_the_entry_point_that_was_chosen_is_no_server_another_is_tried(
    made: Checkout, tmp_path: Path
) -> None:
    project = 'version = "0.5.0"\nscripts.wanting-server = "platform:platform"\n'
    folder = python_folder(tmp_path / "wanting", "any", project)
    done = tried(made, "--dry-run", folder)
    assert "guessed: entry point wanting-server of" in done.stderr
    assert "trying another of its programs, wanting\n" in done.stderr
    assert "guessed: entry point wanting, which starts" in done.stderr
    by_hand = tried(made, "--dry-run", "--entry", "wanting-server", folder, code=1)
    assert "trying another" not in by_hand.stderr


def test_a_library_that_fetches_its_grammars_when_it_runs_finds_them_in_the_cell(
    made: Checkout, tmp_path: Path
) -> None:
    needs = 'dependencies = ["tree-sitter-language-pack>=1.8", "tree-sitter"]\n'
    folder = python_folder(tmp_path / "wanting", "parses", f'version = "0.4.0"\n{needs}')
    saved = tmp_path / "mine"
    done = tried(made, "--dry-run", "--save", str(saved), folder)
    assert "npm's grammars of 24 languages" in done.stderr
    spec, saved_as = saved_in(saved)
    assert '"tree-sitter-python"' in (saved_as / "package-lock.json").read_text()
    assert any("npm's builds" in text for text in spec.substitutes)
    assert "tree-sitter-languages==" in (saved_as / "requirements.txt").read_text()


def test_a_library_that_fetches_an_embedding_model_gets_one_with_its_own_hubs_weights(
    made: Checkout, tmp_path: Path
) -> None:
    needs = 'dependencies = ["fastembed"]\n'
    folder = python_folder(tmp_path / "wanting", "embeds", f'version = "0.6.0"\n{needs}')
    saved = tmp_path / "mine"
    done = tried(made, "--save", str(saved), folder)
    assert "is not as its users have it: Whatever embedding model" in done.stdout
    assert "all-MiniLM-L6-v2 of PyPI in the place of any embedding model" in done.stderr
    spec, _ = saved_in(saved)
    assert any("ranks otherwise than for its users" in text for text in spec.substitutes)


def test_a_program_that_a_server_runs_and_does_not_bring_is_installed_beside_it(
    made: Checkout, tmp_path: Path
) -> None:
    folder, saved = tmp_path / "wanting", tmp_path / "mine"
    folder.mkdir()
    (folder / "package.json").write_text('{"name": "wanting", "bin": "start.js"}')
    (folder / "wanting.py").write_text(SERVER)
    (folder / "start.js").write_text(
        "const {spawn} = require('child_process');\n"
        "spawn('python3', [__dirname + '/wanting.py', 'linter'], {stdio: 'inherit'});\n"
    )
    done = tried(made, "--dry-run", "--save", str(saved), str(folder))
    assert "pycodestyle (pypi:pycodestyle), which it runs and does not bring" in done.stderr
    _, saved_as = saved_in(saved)
    assert "pycodestyle==" in (saved_as / "requirements.txt").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("docker:acme/server@sha256:0",), "that is no image's name"),
        (("pypi:acme", "--scripts", "native"), "only packages of npm have install scripts"),
        (("pypi:acme", "--with", "pyright"), "it is no npm:NAME or pypi:NAME"),
    ],
)
def test_what_cannot_be_tried_is_said_before_anything_is_installed(
    made: Checkout, words: tuple[str, ...], says: str
) -> None:
    assert says in tried(made, *words, code=1).stderr


def test_a_command_that_a_server_must_get_first_is_run_and_kept(made: Checkout) -> None:
    told = ["--warm-up", "shell", 'touch "$HOME/built"', "--dry-run"]
    tried(made, *told, *command(made, "unstarted"))
    refused = tried(made, *command(made, "unstarted"), code=1)
    assert "it does not start: no index - run" in refused.stderr
