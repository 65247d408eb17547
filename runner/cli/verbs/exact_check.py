"""`fairtrial exact check`: every key, held against programs that know its language."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import opening, options, output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.authoring.exact.question_files import CheckedSuite
    from runner.catalog.checkout import Checkout


class Verb(options.Request):
    suites: tuple[str, ...] = options.said("[SUITE …]", "folders of scenarios/exact (default: all)")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.authoring.exact.question_files import agreement, differences

    checked = _checked(opening.open_checkout(request.root), request.suites)
    rows = agreement(checked)
    lines = [line for suite in checked for line in differences(suite)]
    if request.json:
        output.show_json({"agreement": [asdict(row) for row in rows], "differences": lines})
    else:
        output.show("\n".join([*lines, *(row.as_text() for row in rows), _unconfirmed(checked)]))
    return output.FAILED if lines else output.OK


def _checked(checkout: Checkout, names: Sequence[str]) -> list[CheckedSuite]:
    """Raises FairtrialError if there is no such folder."""
    from runner.authoring.exact.question_files import FILE, SUITE, check_suite
    from runner.support.errors import FairtrialError

    top: Path = (checkout.project or checkout.root) / SUITE
    folders = [top / name for name in names] or sorted(it.parent for it in top.glob(f"*/{FILE}"))
    folders = folders or [top]
    for folder in folders:
        if not (folder / FILE).is_file():
            hint = f"name a folder of {top} that has a {FILE}; `fairtrial exact make` writes one"
            raise FairtrialError("no questions are there", where=str(folder), hint=hint)
    return [check_suite(checkout, folder) for folder in folders]


def _unconfirmed(checked: Sequence[CheckedSuite]) -> str:
    count = sum(len(suite.questions) for suite in checked)
    alone = sum(len(suite.unanswered) for suite in checked)
    if alone == 0:
        return f"{count} questions checked; a second program answered about each of them"
    return f"{count} questions checked; no second program answered about {alone} of them"
