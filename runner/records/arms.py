"""The names of a run's arms: a server's, and those of the two that check the run itself."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field

from runner.records.record import Count, Name, Record

ArmName = Annotated[
    str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}(\+-?[1-9][0-9]{0,2})?(\+twin[0-9]*)?$")
]
"""`codegraph`, `codegraph+twin`, `codegraph+20`. No server's own name holds a `+`."""
MOST_MOVED = 500
"""Lines that an arm's results may be moved by."""
SHELL_ARM = "shell"
NO_TOOLS_ARM = "none"
"""Neither shell nor server: what the model knows by heart."""
_ALTERED = re.compile(r"(?P<server>[^+]*)(?:\+(?P<moved>-?\d{1,3}))?(?:\+twin(?P<twin>\d*))?")


class ArmServer(Record):
    """Which server an arm has, and what is done to it to check the run: mostly nothing."""

    server: Name
    moved_lines: Annotated[int, Field(ge=-MOST_MOVED, le=MOST_MOVED)] = 0
    """Added to every line number in its results before the model sees them."""
    twin: Count = 0
    """0 for the first arm with this server and these results, 1 for the next."""

    @classmethod
    def of(cls, arm: str) -> Self:
        """By its name. Raises ValueError for the name of no arm."""
        found = _ALTERED.fullmatch(arm)
        if found is None:
            raise ValueError(f"{arm!r} is no arm's name")
        twin = 0 if found["twin"] is None else int(found["twin"] or 1)
        return cls(server=found["server"], moved_lines=int(found["moved"] or 0), twin=twin)

    @property
    def name(self) -> str:
        moved = f"+{self.moved_lines}" if self.moved_lines else ""
        number = self.twin if self.twin > 1 else ""
        return f"{self.server}{moved}{f'+twin{number}' if self.twin else ''}"

    def describe(self) -> str:
        """What the arm is: `codegraph with every line number in its results moved by +20`."""
        if self.server == NO_TOOLS_ARM:
            return "the model without any tool, which shows what it knows by heart"
        again = " once more" if self.twin else ""
        if not self.moved_lines:
            return f"{self.server}{again}"
        moved = f"every line number in its results moved by {self.moved_lines:+}"
        return f"{self.server}{again} with {moved}"


def server_of(arm: str) -> str:
    """The server of the arm of that name."""
    return arm.partition("+")[0]


def is_self_check(arm: str) -> bool:
    """Is it a twin, a liar or without tools? Such an arm is no server to be recommended."""
    return "+" in arm or arm == NO_TOOLS_ARM


def is_candidate(arm: str) -> bool:
    """Is the arm a server that could be recommended? Neither the shell nor a check of the run."""
    return arm != SHELL_ARM and not is_self_check(arm)
