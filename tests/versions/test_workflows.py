"""`fairtrial init --ci`: the workflow's steps, run in a shell as a runner would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.catalog.workflows import WORKFLOWS, workflow_text, write_workflow
from runner.cli.main import main
from runner.support.errors import FairtrialError
from tests.checkout import git
from tests.versions.test_planted import folder

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


@pytest.mark.docker
def test_the_steps_say_a_renamed_tool_in_one_comment_and_end_in_its_code(tmp_path: Path) -> None:
    repository = _repository(tmp_path)
    told, comments = tmp_path / "told", tmp_path / "comments"
    comments.write_text("")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text(GH)
    (tmp_path / "bin/gh").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_REPOSITORY": "me/ledger",
        "PULL_REQUEST": "7",
        "BASE_REF": "main",
        "TOLD": str(told),
        "COMMENTS": str(comments),
    }
    named = {it["name"]: it["run"] for it in steps() if "run" in it}
    assert _step(named["Compare"], repository, environment) == 0
    assert (tmp_path / "output").read_text() == "code=1\n"
    assert "is called look_up now" in (tmp_path / "summary").read_text().replace("\\", "")
    assert _step(named["Comment"], repository, environment) == 0
    assert "--method POST repos/me/ledger/issues/7/comments" in told.read_text()
    comments.write_text("41\n")
    assert _step(named["Comment"], repository, environment) == 0
    assert "--method PATCH repos/me/ledger/issues/comments/41" in told.read_text()
    assert _step(named["Verdict"], repository, {**environment, "CODE": "1"}) == 1


def _step(script: str, where: Path, environment: dict[str, str]) -> int:
    """As a runner does: `bash --noprofile --norc -eo pipefail`."""
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(
        argv, cwd=where, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode


def _repository(top: Path) -> Path:
    """A server's repository on a branch that renames a tool; its project asks for tools alone."""
    upstream = folder(top / "upstream")
    with pytest.raises(SystemExit):
        main(["--root", str(top), "init", str(upstream)])
    (upstream / "fairtrial.yaml").write_text("compare: {only: [tools, schema]}\n")
    with pytest.raises(SystemExit):
        main(["--root", str(upstream), "lock"])
    git(upstream, "init", "-q", "-b", "main")
    git(upstream, "add", "-A")
    git(upstream, "commit", "-q", "-m", "one")
    here = top / "here" / "ledger"
    here.parent.mkdir()
    git(top, "clone", "-q", str(upstream), str(here))
    server = here / "ledger.py"
    server.write_text(server.read_text().replace('FIND = "find_text"', 'FIND = "look_up"'))
    git(here, "commit", "-q", "-a", "-m", "two")
    return here
