"""`fairtrial scenario new`: questions about a repository of the person's own."""

from __future__ import annotations

from pathlib import Path

from runner.cli import opening, options, output


class Verb(options.Request):
    repo: str = options.said("--repo PATH_OR_URL", "a folder, or what git can clone", required=True)
    commit: str | None = options.said(
        "--commit REVISION",
        "any revision of a folder; a URL's branch, tag or full SHA (default: HEAD)",
    )
    dirty: bool = options.said("--dirty", "a folder's files as they are, as a commit of their own")
    id: str = options.said("--id NAME", "default: made from the question")
    label: str = options.said(
        "--label NAME",
        "what tracked files call a folder, whose path they never hold (default: own)",
    )
    questions: int = options.said("--questions K", "at most (default)", 3)
    symbol: str = options.said("--symbol NAME", "ask about this function")
    from_history: int = options.said(
        "--from-history [N]",
        "instead of the tree: of N commits that mended something (default: 1)",
        0,
        const=1,
    )
    into: Path | None = options.said("--into DIR", "a project (default: this folder)")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.authoring.drafting.command import DraftRequest, new_scenarios

    found = opening.places(request.root)
    wanted = options.taken(DraftRequest, request)
    into = (request.into or found.top).resolve()
    made = new_scenarios(wanted, into, found.state, opening.environ_without_keys(), output.tell)
    # Every verb looks for a project in the folder it is run in.
    next_step = f"next: `fairtrial check {made[0].id}` says what is left to write"
    text = "\n".join([*(it.as_text() for it in made), next_step])
    return output.show_either([it.as_json() for it in made], text, as_json=request.json)
