"""A server that speaks streamable HTTP is started behind http_bridge.py, inside its cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import resources

from runner.authoring.onboarding.launches import Launch
from runner.records import ServerSpec

BRIDGE = "http_bridge.py"
_LISTENS = re.compile(
    r"\b(?:listening|listens|running|serving|started|available)\b.{0,60}?"
    r"(?:https?://\S+|\bport:? ?\d{2,5}|(?:localhost|127\.0\.0\.1|0\.0\.0\.0):\d{2,5})",
    re.IGNORECASE | re.DOTALL,
)


def listens(said: Iterable[str]) -> bool:
    """Does a server say that it waits at a port? `said`: its stderr, and stray lines of stdout."""
    return any(_LISTENS.search(text) for text in said)


def bridged(spec: ServerSpec, where: str) -> ServerSpec:
    """Behind the bridge. `where`: `PORT`, `PORT/PATH`, or empty for what it is found to open.

    An image is left as it is: the bridge runs beside it, in the cell.
    """
    if spec.image is not None:
        return spec.model_copy(update={"http": where})
    text = resources.files("runner.sandbox").joinpath(BRIDGE).read_text("utf-8")
    words = [where] if where else []
    return spec.model_copy(
        update={
            "files": {**spec.files, BRIDGE: text},
            "command": ("python3", f"{{install}}/{BRIDGE}", *words, "--", *spec.command),
        }
    )


def over_http(ways: Iterable[Launch]) -> list[Launch]:
    """The same ways, and before them the usual words for it."""
    return [*_usual(), *ways]


def _usual() -> Iterator[Launch]:
    yield Launch(why="bare, over HTTP")
    for args in (("--transport", "streamable-http"), ("--transport", "http"), ("--http",)):
        yield Launch(args=args, why="usual for HTTP")
