"""`fairtrial clean`: what killed runners left, or all that is ours."""

from __future__ import annotations

import shutil

from runner.cli.opening import open_checkout
from runner.cli.options import Request, said
from runner.cli.output import OK, show

CACHES = ("repositories", "grounding", "scores", "testbed", "images.json")
"""Under .fairtrial: what can be made again."""


class Verb(Request):
    all: bool = said("--all")


def run(request: Verb) -> int:
    from runner.sandbox import engine

    checkout = open_checkout(request.root)
    if not request.all:
        count = engine.sweep(checkout.engine)
        noun = "container" if count == 1 else "containers"
        show(f"removed {count} {noun} whose runner is gone")
        return OK
    for line in engine.remove_all(checkout.engine):
        show(line)
    for name in CACHES:
        path = checkout.state / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    show("removed caches")
    return OK
