"""`fairtrial clean`: what killed runners left, or all that is ours."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.cli.opening import open_checkout
from runner.cli.options import Request, said
from runner.cli.output import OK, show

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout

CACHES = ("repositories", "grounding", "scores", "testbed", "images.json")
"""Under .fairtrial: what can be made again."""


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    all: bool = said("--all")


def run(request: Verb) -> int:
    checkout = open_checkout(request.root)
    for line in _all(checkout) if request.all else _left(checkout):
        show(line)
    return OK


def _left(checkout: Checkout) -> Iterator[str]:
    from runner.sandbox.engine import sweep

    count = sweep(checkout.engine)
    noun = "container" if count == 1 else "containers"
    yield f"removed {count} {noun} whose runner is gone"


def _all(checkout: Checkout) -> Iterator[str]:
    from runner.sandbox.engine import remove_all

    yield from remove_all(checkout.engine)
    for name in CACHES:
        path = checkout.state / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    yield "removed caches"
