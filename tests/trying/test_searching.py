"""How a server is started, and what it must get first, is found in the sandbox."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.authoring.onboarding import setting_up
from runner.authoring.onboarding.installed import InstalledPackage
from runner.authoring.onboarding.installing import draft, volume_of
from runner.authoring.onboarding.launches import SHOWN, Launch, launches
from runner.authoring.onboarding.launching import started_by
from runner.authoring.onboarding.search_context import SearchContext
from runner.authoring.onboarding.searching import find_way
from runner.authoring.onboarding.start_attempt import StartAttempt
from runner.authoring.onboarding.targets import symbols_of
from runner.catalog.checkout import Checkout
from runner.records import Canary, McpCall, ServerCard, ServerSpec, WarmUp
from runner.runs.prepare import workspace
from runner.sandbox.base_image import BaseImage
from runner.servers.examine import check_server
from runner.servers.volume import ServerVolume
from tests.checkout import SESSION, make
from tests.helpers import PATIENCE_SEC

pytestmark = pytest.mark.docker

BROUGHT = '#!/bin/sh\necho "$@" >> "$HOME/built"\n'
BROUGHT_ALONE = """#!/bin/sh
flock -n "$HOME/lock" touch "$HOME/built" && exit
echo Another process already has this database open >&2
exit 1
"""
BROUGHT_AFTER = "#!/bin/sh\ntest -f ~/begun && touch ~/built\n"
BROUGHT_HALF = f"{BROUGHT}echo it cannot write its last file >&2\nexit 1\n"
BROUGHT_PYTHON = "import os\nopen(os.path.expanduser('~/built'), 'w').close()\n"
SERVER = (Path(__file__).parent / "server.py.txt").read_text() + f"# {SESSION}\n"
FILES = {
    "server.py": SERVER,
    "brought": BROUGHT,
    "alone": BROUGHT_ALONE,
    "half": BROUGHT_HALF,
    "after": BROUGHT_AFTER,
    "python/bin/tool": BROUGHT_PYTHON,
}


class Bench:
    """A repository's image, and a volume with the server that has every wish."""

    def __init__(self, folder: Path) -> None:
        made = make(folder)
        self.said: list[str] = []
        self.made = made
        self.checkout = Checkout(
            root=made.root,
            state=made.root / ".fairtrial",
            environ=dict(os.environ),
            log=self.said.append,
        )
        self.loaded = self.checkout.scenario("small")
        installed = InstalledPackage(name="wanting", version="1", entries={})
        # A name of its own: tests/trying/test_try.py tidies away what is called `wanting`.
        self.spec = draft("searched", installed, FILES)
        self.volume = volume_of(self.checkout, self.spec, folder).name

    def ground(self) -> SearchContext:
        files = self.checkout.files(self.loaded)
        return SearchContext(
            engine=self.checkout.engine,
            image=workspace(self.checkout, self.checkout.repository(self.loaded)).id,
            limits=self.checkout.limits,
            volume=self.volume,
            symbols=tuple(symbols_of(files, "python")),
            paths=frozenset(files.paths()),
            log=self.said.append,
            polls=(0,),
        )

    def wanting(self, mode: str, **changes: Any) -> ServerSpec:
        update = {"command": ("python3", "{install}/server.py", mode), **changes}
        return self.spec.model_copy(update={"initialize_timeout_sec": PATIENCE_SEC, **update})

    def way(
        self,
        mode: str,
        *ways: Launch,
        canary: Canary | None = None,
        fixed: bool | None = None,
        about: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> StartAttempt:
        """What is found; the ways are the only ones if some are given. `about`: of the ground."""
        ground = replace(self.ground(), **(about or {}))
        chosen = list(ways) or launches("", ["wanting"])
        search = find_way(
            ground,
            self.wanting(mode, **changes),
            chosen,
            fixed=bool(ways) if fixed is None else fixed,
            canary=canary,
        )
        return asyncio.run(search)

    def proven(self, mode: str, found: StartAttempt, **changes: Any) -> ServerCard:
        """What the doctor finds in a fresh cell, of the server as it was found."""
        assert found.canary is not None
        changes |= {"warm_up": found.warm_up, "canaries": (found.canary.as_canary("*"),)}
        volume = ServerVolume(name=self.volume, digest="0" * 64, size_mb=0)
        ground = self.ground()
        return asyncio.run(
            check_server(
                ground.engine,
                started_by(self.wanting(mode, **changes), found.launch),
                volume,
                image=ground.image,
                repository="*",
                limits=ground.limits,
            )
        )


@pytest.fixture(scope="module")
def bench(
    tmp_path_factory: pytest.TempPathFactory, base: BaseImage, engine: docker.DockerClient
) -> Iterator[Bench]:
    stood = Bench(tmp_path_factory.mktemp("bench"))
    yield stood
    stood.checkout.close_files()
    engine.api.remove_volume(stood.volume, force=True)
    stood.made.remove_images(engine)


BARE = Launch(why="bare")
NOTHING = Launch(args=("nothing",), why="given")
NEEDS = Launch(args=("make_index.py", "/workspace"), why="given")
BUILD = Launch(args=("brought", "build"), why="given")
NAMES = {"names": {"make_index.py": "brought"}}
ON_PATH = {"PATH": "{install}:/usr/bin:/bin"}
"""A server's environment, in which its own programs are found."""
LOOK = WarmUp(call=McpCall(tool="find_symbol", arguments={"name": "nothing", "repo": "x"}))


def test_a_plain_server_is_started_bare_and_its_line_base_is_measured(bench: Bench) -> None:
    found = bench.way("plain")
    assert found.launch.args == ()
    assert found.canary is not None
    assert found.canary.evidence.contains == f"app.py:{found.canary.symbol.line}"
    assert found.canary.evidence.line_base == 1


def test_a_tool_that_takes_nothing_shows_the_repository_all_the_same(bench: Bench) -> None:
    found = bench.way("map")
    assert found.canary is not None
    assert found.canary.call == McpCall(tool="get_map")


def test_a_server_that_wants_the_folder_as_its_argument_gets_it(bench: Bench) -> None:
    found = bench.way("argument")
    assert (found.launch.args, found.canary is not None) == (("{workspace}",), True)


def test_what_a_readme_shows_is_tried_before_a_variable_that_it_names(bench: Bench) -> None:
    shown = Launch(args=("{workspace}",), why=SHOWN)
    about = {"variables": ("ACME_VAULT_DIR",)}
    found = bench.way("vault", BARE, shown, fixed=False, about=about)
    starts = [line.split(":")[0].strip() for line in bench.said if "; none of " in line]
    assert starts[-2:] == [str(BARE), str(shown)]
    assert found.launch.env == {"ACME_VAULT_DIR": "{workspace}"}


def test_a_server_that_must_index_first_is_told_to_and_the_call_becomes_its_warm_up(
    bench: Bench,
) -> None:
    found = bench.way("index")
    assert found.canary is not None
    (step,) = found.warm_up
    assert step.call == McpCall(tool="index_project", arguments={"path": "{workspace}"})


@pytest.mark.parametrize(
    ("mode", "key", "placed"),
    [
        ("named", "repo", "{answer.repo}"),
        ("random", "repo", "{answer.repo}"),
        ("said", "session_id", "{answer.session_id}"),
        ("word", "session_id", "{answer.text}"),
        ("nested", "session_id", "{answer.session.id}"),
    ],
)
def test_what_a_first_call_calls_the_project_is_asked_with_in_this_session_and_in_the_next(
    bench: Bench, mode: str, key: str, placed: str
) -> None:
    found = bench.way(mode, BARE)
    assert found.canary is not None
    assert found.canary.call.arguments[key] == placed
    again = bench.proven(mode, found)
    assert again.canary_passed


def test_a_tool_that_an_error_names_is_told_first(bench: Bench) -> None:
    found = bench.way("names-it", BARE)
    assert found.canary is not None
    assert [step.call for step in found.warm_up] == [
        McpCall(tool="analyze_all", arguments={"path": "{workspace}"})
    ]
    assert bench.proven("names-it", found).canary_passed


def test_a_whole_call_that_an_answer_spells_is_told_first(bench: Bench) -> None:
    found = bench.way("approves", BARE)
    approved = {"directory": "{workspace}", "session_id": "s-1"}
    assert [step.call for step in found.warm_up] == [
        McpCall(tool="approve_directory", arguments=approved)
    ]
    assert bench.proven("approves", found).canary_passed


def test_a_shell_is_told_to_look_and_shows_the_line(bench: Bench) -> None:
    found = bench.way("shell", BARE)
    assert found.canary is not None
    assert found.canary.call.arguments["command"].startswith("grep -rnw -e ")
    assert found.canary.evidence.kind == "line"
    assert bench.proven("shell", found).canary_passed


def test_a_handle_that_nothing_answered_with_is_made_up_by_nobody(bench: Bench) -> None:
    assert bench.way("random", BARE, warm_up=(LOOK,)).canary is None


def test_a_program_of_its_own_that_it_says_has_to_be_run_first_is_run(bench: Bench) -> None:
    found = bench.way("unbuilt", BUILD, env=ON_PATH)
    assert found.canary is not None
    assert [step.shell for step in found.warm_up] == ["brought build"]


def test_a_python_packages_own_program_is_run_by_the_python_of_the_cell(bench: Bench) -> None:
    env = {"PYTHONPATH": "{install}/python"}
    found = bench.way("unbuilt", Launch(args=("tool", "build"), why="given"), env=env)
    assert found.canary is not None
    assert [step.shell for step in found.warm_up] == ["python3 {install}/python/bin/tool build"]


def test_a_program_that_only_its_readme_names_is_run_and_one_that_fails_says_how(
    bench: Bench,
) -> None:
    bench.said.clear()
    found = bench.way(
        "unbuilt", NOTHING, env=ON_PATH, about={"programs": ("brought-not", "brought build")}
    )
    assert [step.shell for step in found.warm_up] == ["brought build"]
    bench.way("unbuilt", NOTHING, env=ON_PATH, about={"programs": ("server.py", "brought build")})
    assert any("server.py ends with " in line for line in bench.said)


def test_a_server_that_does_not_start_before_its_own_program_was_run_is_started_after_it(
    bench: Bench,
) -> None:
    found = bench.way("unstarted", NEEDS, env=ON_PATH, about=NAMES)
    assert found.canary is not None
    assert [step.shell for step in found.warm_up] == ["brought {workspace}"]
    shown = bench.way("unstarted", NEEDS, env=ON_PATH, about={"programs": ("brought init",)})
    assert [step.shell for step in shown.warm_up] == ["brought init"]
    told = (WarmUp(shell="true"),)
    assert not bench.way("unstarted", NEEDS, env=ON_PATH, about=NAMES, warm_up=told).started


def test_an_index_that_it_says_it_is_building_is_waited_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setting_up, "_LONGER", ())
    assert bench.way("busy", BARE).canary is None
    monkeypatch.setattr(setting_up, "_LONGER", (5.0,))
    found = bench.way("busy", BARE)
    assert found.canary is not None
    assert found.canary.waited_sec == 5
    # In a cell it is waited for as long as it took, and as long again.
    slow = replace(found.canary, waited_sec=90)
    assert slow.as_canary("*").timeout_sec == 180


def test_what_it_misses_once_its_index_is_there_is_what_is_told(bench: Bench) -> None:
    found = bench.way("misses-two", NEEDS, env=ON_PATH, about=NAMES)
    assert "pip install 'acme[mcp]'" in found.problem
    # While the index is missed still, that is why it does not start.
    unmade = bench.way("misses-two", NEEDS, env=ON_PATH)
    assert "No index found" in unmade.problem


def test_a_program_that_the_running_server_shuts_out_is_run_before_it_starts(
    bench: Bench,
) -> None:
    found = bench.way("holds", NOTHING, env=ON_PATH, about={"programs": ("alone init",)})
    assert found.canary is not None
    assert [step.shell for step in found.warm_up] == ["alone init"]
    other = bench.way("holds", NOTHING, env=ON_PATH, about={"programs": ("brought-not init",)})
    assert other.canary is None


def test_what_a_program_left_that_failed_in_the_end_is_there_in_a_fresh_cell_too(
    bench: Bench,
) -> None:
    programs = {"programs": ("half init", "brought-not init")}
    found = bench.way("unbuilt", NOTHING, env=ON_PATH, about=programs)
    assert found.canary is not None
    assert [step.shell for step in found.warm_up] == ["half init || true"]


def test_a_program_that_builds_on_what_a_tool_made_may_fail_in_a_fresh_cell(bench: Bench) -> None:
    found = bench.way("begins", BARE, env=ON_PATH, about={"programs": ("after init",)})
    assert found.canary is not None
    told, program = found.warm_up
    assert told.call is not None and told.call.tool == "index_project"
    assert program.shell == "after init || true"


def test_a_tool_that_ends_the_server_is_asked_no_more_and_the_others_are(bench: Bench) -> None:
    bench.said.clear()
    found = bench.way("dies", BARE)
    assert found.canary is not None
    assert found.canary.call.tool == "find_symbol"
    assert any("find_node ends it, and is asked no more" in line for line in bench.said)
    assert bench.way("dies-unbuilt", BARE).canary is None


def test_one_that_ends_when_asked_before_its_index_is_built_gets_it_first(bench: Bench) -> None:
    found = bench.way("dies-unbuilt", BARE, env=ON_PATH, about={"programs": ("brought init",)})
    assert found.canary is not None
    assert [step.shell for step in found.warm_up] == ["brought init"]


def test_a_folder_that_only_a_variable_can_name_is_named_by_it(bench: Bench) -> None:
    about = {"variables": ("ACME_VAULT_DIR",)}
    found = bench.way("vault", BARE, fixed=False, about=about)
    assert found.canary is not None
    assert found.launch.env == {"ACME_VAULT_DIR": "{workspace}"}


def test_what_it_says_has_to_be_run_is_not_if_it_did_not_bring_that(bench: Bench) -> None:
    order = Launch(args=("touch", "/var/lib/server/built"), why="given")
    found = bench.way("unbuilt", order)
    assert (found.canary, found.warm_up) == (None, ())


def test_a_folder_that_it_may_not_write_becomes_its_own(bench: Bench) -> None:
    found = bench.way("own", BARE)
    assert (found.private, found.canary is not None) == ((".own",), True)
    found = bench.way("own-node", BARE)
    assert (found.private, found.canary is not None) == (("logs",), True)
    found = bench.way("own-here", BARE)
    assert (found.private, found.canary is not None) == (("wanted-graph",), True)


def test_one_that_tells_git_what_to_leave_out_may_and_sees_its_history(bench: Bench) -> None:
    found = bench.way("own-excludes", BARE)
    assert found.canary is not None
    assert found.private == (".git/info",)


def test_one_that_only_errs_may_write_the_folder_that_is_called_after_it(bench: Bench) -> None:
    found = bench.way("own-silent", BARE, about={"own_folders": (".wanting",)})
    assert found.canary is not None
    assert found.private == (".wanting",)
    assert bench.way("own-silent", BARE).canary is None


def test_a_refusal_that_names_no_place_is_met_by_the_folder_called_after_it_before_a_copy(
    bench: Bench,
) -> None:
    found = bench.way("own-unnamed", about={"own_folders": (".own",)})
    assert (found.private, found.launch.copied, found.canary is not None) == (
        (".own",),
        False,
        True,
    )
    # Of one that names a file at the top, no folder is what it misses.
    found = bench.way("logs", about={"own_folders": (".wanting",)})
    assert (found.private, found.launch.copied, found.canary is not None) == ((), True, True)


def test_one_that_waits_at_a_port_is_heard_and_started_in_no_other_way(bench: Bench) -> None:
    found = bench.way("http-first")
    assert (found.launch.args, found.listens, found.is_hopeless) == ((), True, True)


def test_one_whose_tools_fail_inside_a_package_is_told_from_one_that_shows_nothing(
    bench: Bench,
) -> None:
    assert bench.way("breaks", BARE).breaks_when_asked
    assert bench.way("inside", BARE).may_be_too_old
    assert not bench.way("credentials", BARE).may_be_too_old
    assert not bench.way("echo", BARE).breaks_when_asked
    assert not bench.way("module", BARE).breaks_when_asked


@pytest.mark.parametrize("mode", ["logs", "own-database", "own-unnamed", "writes-out"])
def test_one_that_writes_where_it_is_started_works_on_a_copy(bench: Bench, mode: str) -> None:
    found = bench.way(mode)
    assert (found.launch.copied, found.canary is not None) == (True, True)
    assert found.private == ()


def test_one_that_insists_on_writing_beside_the_code_works_on_a_copy_that_nobody_can_tell(
    bench: Bench,
) -> None:
    found = bench.way("beside")
    assert found.canary is not None and found.launch.copied
    assert found.canary.evidence.contains.startswith("app.py:")
    # The copy's place is in no answer: an answer that cites it would cite no file.
    assert any("/workspace/app.py:" in text for text in found.search.seen)
    assert not any("/copy/" in text for text in found.search.seen)
    (made,) = found.warm_up
    assert made.shell is not None and "own_copy.py" in made.shell
    assert bench.proven("beside", found).canary_passed
    assert bench.way("beside", BARE).canary is None


def test_stray_lines_and_refused_network_are_counted_and_do_no_harm(bench: Bench) -> None:
    stray, network = bench.way("stray", BARE), bench.way("network", BARE)
    assert (stray.stray_lines, stray.canary is not None) == (1, True)
    assert (network.network_attempts > 0, network.canary is not None) == (True, True)


def test_one_that_refuses_without_a_key_is_shown_with_its_own_words(bench: Bench) -> None:
    found = bench.way("credentials", BARE)
    assert not found.started
    assert found.problem == "set ACME_KEY to a key of yours"


def test_why_one_ended_is_read_in_the_log_that_it_names(bench: Bench) -> None:
    found = bench.way("logs-why", BARE)
    assert (found.started, found.problem) == (False, "OSError: no key of yours is there")


def test_one_that_complains_on_stdout_is_shown_with_its_own_words_too(bench: Bench) -> None:
    found = bench.way("ends-on-stdout", BARE)
    assert (found.started, found.problem) == (False, "name a database first")


def test_the_persons_own_environment_is_enough(bench: Bench) -> None:
    assert bench.way("credentials", BARE, env={"ACME_KEY": "k"}).canary is not None


def test_no_argument_is_tried_on_a_program_whose_modules_do_not_load(bench: Bench) -> None:
    bench.said.clear()
    found = bench.way("module")
    assert found.is_broken
    assert len(bench.said) == 1


def test_one_that_fetches_something_first_is_known_by_it_and_given_up_at_once(
    bench: Bench,
) -> None:
    bench.said.clear()
    found = bench.way("fetches")
    assert found.needs_network
    assert len(bench.said) == 1


def test_no_flag_is_guessed_any_more_where_none_makes_a_difference(bench: Bench) -> None:
    bench.said.clear()
    ways = launches("", [])
    bench.way("echo", *ways, fixed=False)
    tried = [line for line in bench.said if "calls showed the repository" in line]
    assert len(ways) > len(tried) == 3


@pytest.mark.parametrize("mode", ["writes", "facade", "echo"])
def test_a_server_that_shows_nothing_has_no_canary_and_nothing_was_written(
    bench: Bench, mode: str
) -> None:
    found = bench.way(mode, BARE)
    assert found.started
    assert found.canary is None
    assert "written" not in found.search.seen


def test_one_that_reads_without_its_index_is_told_to_build_it_and_finds_more(
    bench: Bench,
) -> None:
    found = bench.way("reads-too", BARE)
    assert found.canary is not None
    assert found.canary.call.tool == "find_symbol"
    assert [step.call and step.call.tool for step in found.warm_up] == ["index_project"]


def test_one_that_reads_without_its_index_has_its_own_program_build_it(bench: Bench) -> None:
    found = bench.way("reads-unbuilt", BUILD, env=ON_PATH)
    assert found.canary is not None
    assert found.canary.call.tool == "find_symbol"
    assert [step.shell for step in found.warm_up] == ["brought build"]


def test_a_second_program_is_run_for_a_tool_that_finds_where_the_first_lets_another_read(
    bench: Bench,
) -> None:
    found = bench.way("two-steps", BARE, env=ON_PATH)
    assert found.canary is not None
    assert found.canary.call.tool == "find_symbol"
    assert [step.shell for step in found.warm_up] == ["brought init", "brought build"]
    assert bench.proven("two-steps", found, env=ON_PATH).canary_passed


def test_where_all_tools_are_said_to_write_those_named_to_read_are_asked_all_the_same(
    bench: Bench,
) -> None:
    found = bench.way("hinted", BARE)
    assert found.canary is not None
    assert found.canary.call.tool == "find_symbol"
    assert "written" not in found.search.seen


def test_one_none_of_whose_tools_can_be_asked_is_not_started_with_flags_that_are_guessed(
    bench: Bench,
) -> None:
    bench.said.clear()
    found = bench.way("writes")
    assert (found.started, found.search.calls) == (True, 0)
    starts = [line for line in bench.said if "none of which can be asked" in line]
    assert len(starts) == 1


def test_with_the_persons_own_canary_none_is_looked_for(bench: Bench) -> None:
    own = Canary(repository="*", call=McpCall(tool="find_symbol"), contains="x")
    step = WarmUp(call=McpCall(tool="index_project", arguments={"path": "{workspace}"}))
    found = bench.way("index", BARE, canary=own, warm_up=(step,))
    assert (found.started, found.search.calls, found.warm_up) == (True, 0, (step,))
