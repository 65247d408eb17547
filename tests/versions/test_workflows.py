"""`fairtrial init --ci`: the workflow's steps, run in a shell as a runner would run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import docker
import pytest
import yaml

from runner.catalog.workflows import WORKFLOWS, workflow_text, write_workflow
from runner.cli.main import main
from runner.support.errors import FairtrialError
from tests.checkout import git
from tests.models.doubles import serving
from tests.proposing.trees import commit
from tests.versions.test_planted import folder, without_volumes

GH = """\
#!/bin/sh
# Stands where GitHub's own program does: it writes down what it is told, and knows one comment.
echo "$*" >> "$TOLD"
case "$*" in *--jq*) cat "$COMMENTS";; esac
"""


def test_a_workflow_is_written_once_and_never_over_another(tmp_path: Path) -> None:
    for kind, name in WORKFLOWS.items():
        assert write_workflow(kind, tmp_path) == name
        assert write_workflow(kind, tmp_path) == name
        (tmp_path / name).write_text("name: my own\n")
        with pytest.raises(FairtrialError, match="there is one already"):
            write_workflow(kind, tmp_path)
        assert (tmp_path / name).read_text() == "name: my own\n"


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(workflow_text("github"))["jobs"]["compare"][
        "steps"
    ]
    return found


def shells() -> list[str]:
    gitlab = yaml.safe_load(workflow_text("gitlab"))["fairtrial"]
    return [str(it) for it in (*(it["run"] for it in steps() if "run" in it), *gitlab["script"])]


@pytest.mark.parametrize("script", shells())
def test_every_script_is_one_that_bash_can_read(script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    # What a person can write into a title or a branch's name must never be a part of a script.
    assert "${{" not in script


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A clone of a server's repository, on a branch that renames a tool."""

    here: Path
    cache: Path
    """The user's, in which both workflows find what the other made."""

    def environment(self, **more: str) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "XDG_CACHE_HOME": str(self.cache), **more}


@pytest.fixture(scope="module")
def branch(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient
) -> Iterator[Branch]:
    top = tmp_path_factory.mktemp("workflows")
    here, cache = _repository(top), top / "cache"
    with without_volumes(engine, cache / "fairtrial"):
        yield Branch(here=here, cache=cache)


@pytest.mark.docker
def test_the_steps_say_a_renamed_tool_in_one_comment_and_end_in_its_code(
    branch: Branch, tmp_path: Path
) -> None:
    told, comments = tmp_path / "told", tmp_path / "comments"
    comments.write_text("")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text(GH)
    (tmp_path / "bin/gh").chmod(0o755)
    environment = branch.environment(
        RUNNER_TEMP=str(tmp_path / "temp"),
        GITHUB_OUTPUT=str(tmp_path / "output"),
        GITHUB_STEP_SUMMARY=str(tmp_path / "summary"),
        GITHUB_REPOSITORY="me/ledger",
        PULL_REQUEST="7",
        BASE_REF="main",
        TOLD=str(told),
        COMMENTS=str(comments),
    )
    environment["PATH"] = f"{tmp_path / 'bin'}:{environment['PATH']}"
    named = {it["name"]: it["run"] for it in steps() if "run" in it}
    assert _step(named["Compare"], branch.here, environment) == 0
    assert (tmp_path / "output").read_text() == "code=1\n"
    assert "is called look_up now" in (tmp_path / "summary").read_text().replace("\\", "")
    assert _step(named["Comment"], branch.here, environment) == 0
    assert "--method POST repos/me/ledger/issues/7/comments" in told.read_text()
    comments.write_text("41\n")
    assert _step(named["Comment"], branch.here, environment) == 0
    assert "--method PATCH repos/me/ledger/issues/comments/41" in told.read_text()
    assert _step(named["Verdict"], branch.here, {**environment, "CODE": "1"}) == 1


class Notes:
    """Those of a merge request, and what was asked of them."""

    def __init__(self) -> None:
        self.url = ""
        self.there = [{"id": 3, "body": "A person's: <!-- fairtrial compare --> is no start."}]
        self.asked: list[tuple[str, str, str]] = []
        """Method, path, and the text that was sent."""


@contextmanager
def gitlab() -> Iterator[Notes]:
    """Its API on this machine, as far as a job of ours asks it."""
    notes = Notes()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Nothing."""

        def _answer(self) -> None:
            sent = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            body = dict(parse_qsl(sent)).get("body", "")
            notes.asked.append((self.command, self.path, body))
            is_known = self.headers["private-token"] == "secret"
            self.send_response(200 if is_known else 401)
            self.end_headers()
            self.wfile.write(json.dumps(notes.there).encode())

        do_GET = do_POST = do_PUT = _answer  # noqa: N815 - names of http.server

    with serving(Handler) as url:
        notes.url = url
        yield notes


@pytest.mark.docker
def test_the_script_of_gitlab_says_it_in_one_note_and_ends_in_its_code(
    branch: Branch, tmp_path: Path
) -> None:
    job = yaml.safe_load(workflow_text("gitlab"))["fairtrial"]
    compare, note, verdict = job["script"]
    path = "/projects/9/merge_requests/7/notes"
    with gitlab() as notes:
        environment = branch.environment(
            CI_PROJECT_DIR=str(branch.here),
            CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main",
            CI_MERGE_REQUEST_IID="7",
            CI_PROJECT_ID="9",
            CI_API_V4_URL=notes.url,
            GITLAB_TOKEN="secret",
            TMPDIR=str(tmp_path),
        )
        assert _job([compare, note, verdict], branch.here, environment) == 1
        listed, posted = notes.asked
        assert listed[:2] == ("GET", f"{path}?per_page=100")
        assert posted[:2] == ("POST", path)
        assert "is called look_up now" in posted[2].replace("\\", "")
        # A cache is of this folder: what is kept anywhere else would be kept by nobody.
        kept = job["variables"]["XDG_CACHE_HOME"].replace("$CI_PROJECT_DIR/", "")
        assert job["cache"]["paths"] == [f"{kept}/fairtrial"]
        assert (branch.here / job["artifacts"]["reports"]["junit"]).is_file()

        notes.there.append({"id": 41, "body": posted[2]})
        again = {**environment, "code": "5", "out": str(branch.here / "fairtrial")}
        assert _job([note, verdict], branch.here, again) == 5
        assert notes.asked[-1] == ("PUT", f"{path}/41", posted[2])
        # Who gives no token gets no note, and the verdict all the same.
        silent = {**again, "GITLAB_TOKEN": "", "code": "0"}
        assert _job([note, verdict], branch.here, silent) == 0
        assert len(notes.asked) == 4


def _job(lines: Sequence[str], where: Path, environment: dict[str, str]) -> int:
    """As a runner does in an image without bash: all lines in one `sh`, which ends at an error."""
    return _ended(["sh", "-e", "-c", "\n".join(lines)], where, environment)


def _step(script: str, where: Path, environment: dict[str, str]) -> int:
    """As a runner does: `bash --noprofile --norc -eo pipefail`."""
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return _ended(argv, where, environment)


def _ended(argv: Sequence[str], where: Path, environment: dict[str, str]) -> int:
    done = subprocess.run(
        argv, cwd=where, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode in (0, 1, 5), done.stderr
    return done.returncode


def _repository(top: Path) -> Path:
    """A server's repository on a branch that renames a tool; its project asks for tools alone."""
    upstream = folder(top / "upstream")
    with pytest.raises(SystemExit):
        main(["--root", str(top), "init", str(upstream)])
    (upstream / "fairtrial.yaml").write_text("compare: {only: [tools, schema]}\n")
    with pytest.raises(SystemExit):
        main(["--root", str(upstream), "lock"])
    commit(upstream, {})
    here = top / "here" / "ledger"
    here.parent.mkdir()
    git(top, "clone", "-q", str(upstream), str(here))
    server = here / "ledger.py"
    server.write_text(server.read_text().replace('FIND = "find_text"', 'FIND = "look_up"'))
    git(here, "commit", "-q", "-a", "-m", "two")
    return here
