"""Workflows that compare a server with itself on each pull request, for `init --ci`."""

from __future__ import annotations

from pathlib import Path

from runner.support.errors import FairtrialError

WORKFLOWS = {"github": ".github/workflows/fairtrial.yml", "gitlab": ".gitlab/fairtrial.yml"}
"""Where each is looked for -> its file in a repository."""
_OURS = Path(__file__).with_name("ci")


def workflow_text(kind: str) -> str:
    return (_OURS / f"{kind}.yml").read_text("utf-8")


def write_workflow(kind: str, folder: Path) -> str:
    """Its path in the folder. Raises FairtrialError if another file stands there."""
    name = WORKFLOWS[kind]
    target, text = folder / name, workflow_text(kind)
    if target.exists() and target.read_text("utf-8") != text:
        raise FairtrialError("there is one already", where=name, hint="move it away, or edit it")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    return name
