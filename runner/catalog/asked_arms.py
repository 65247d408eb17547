"""Arms as the command line names them: a server, a server once more, a server with lines moved."""

from __future__ import annotations

import re
from collections.abc import Collection

from runner.records import ArmServer
from runner.records.arms import MOST_MOVED, NO_TOOLS_ARM, SHELL_ARM
from runner.support.errors import FairtrialError

_ASKED = re.compile(r"(?P<server>.+?)(?P<moved>(?:\+-?|-)\d+)?(?P<twin>\+twin\d*)?")


def split_arm(asked: str, known: Collection[str]) -> tuple[str, str]:
    """The server that an arm is asked for by, and the rest of its name: `codegraph` and `+20`.

    `codegraph-20` becomes `codegraph` and `+-20`, unless a server is called that.
    """
    found = _ASKED.fullmatch(asked)
    if asked in known or found is None:
        return asked, ""
    server, moved, twin = found["server"], found["moved"] or "", found["twin"] or ""
    if moved.startswith("-"):
        if server not in {*known, SHELL_ARM, NO_TOOLS_ARM}:
            return asked, ""
        moved = f"+{moved}"
    _require_possible(asked, server, moved)
    lines = f"+{int(moved[1:])}" if moved else ""
    return server, f"{lines}{twin}"


def _require_possible(asked: str, server: str, moved: str) -> None:
    if server in (SHELL_ARM, NO_TOOLS_ARM):
        raise FairtrialError(
            f"`{server}` is no server: there is no arm {asked!r}",
            hint="say a server's name twice for its twin, or `NAME+20` for its lines moved by 20",
        )
    if moved and not 0 < abs(int(moved[1:])) <= MOST_MOVED:
        raise FairtrialError(
            f"lines are moved by 1 to {MOST_MOVED}, up or down: there is no arm {asked!r}",
            hint=f"{server}+20 is {server} with every line number in its results moved by 20",
        )


def next_twin(arm: ArmServer, chosen: Collection[str]) -> ArmServer:
    """The arm, or where it is chosen already its first twin that is not."""
    while arm.name in chosen:
        arm = arm.model_copy(update={"twin": arm.twin + 1})
    return arm
