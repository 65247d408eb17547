"""`fairtrial scenario new`: questions about a repository of the person's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.cli import options
from runner.cli.opening import environ_without_keys, places
from runner.cli.options import Request, said, taken
from runner.cli.output import show_either, tell


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    repo: str = said("--repo PATH_OR_URL", "a folder, or what git can clone", required=True)
    commit: str | None = said(
        "--commit REVISION",
        "any revision of a folder; a URL's branch, tag or full SHA (default: HEAD)",
        None,
    )
    dirty: bool = said("--dirty", "a folder's files as they are, as a commit of their own")
    id: str = said("--id NAME", "default: made from the question", "")
    label: str = said(
        "--label NAME",
        "what tracked files call a folder, whose path they never hold (default: own)",
        "",
    )
    questions: int = said("--questions K", "at most (default: 3)", 3)
    symbol: str = said("--symbol NAME", "ask about this function", "")
    from_history: int = said(
        "--from-history [N]",
        "instead of the tree: of N commits that mended something (default: 1)",
        0,
        const=1,
    )
    into: Path | None = said("--into DIR", "a project (default: this folder)", None)
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.authoring.drafting.command import DraftRequest, new_scenarios

    found = places(request.root)
    wanted = taken(DraftRequest, request)
    into = (request.into or found.top).resolve()
    made = new_scenarios(wanted, into, found.state, environ_without_keys(), tell)
    # Every verb looks for a project in the folder it is run in.
    next_step = f"next: `fairtrial check {made[0].id}` says what is left to write"
    text = "\n".join([*(it.as_text() for it in made), next_step])
    return show_either([it.as_json() for it in made], text, as_json=request.json)
