"""`fairtrial agreement`: do raters agree beyond chance?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.cli import options
from runner.cli.options import Request, repeatable, said, taken
from runner.cli.output import OK, show_tables


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    file: Path = said(
        "FILE.csv",
        "a line for each item, a column for each rater; an item that one of those compared "
        "left blank, or on which people have no majority, is left out and counted",
    )
    people: tuple[str, ...] = repeatable(
        "--people", "; a column whose majority judges are held against"
    )
    raters: tuple[str, ...] = repeatable(
        "--rater", "; the other raters (default: all columns left)"
    )
    item: str = said("--item NAME", "the column that names items (default: the first)", "")
    category: str = said(
        "--category NAME",
        "a column to part the items by (default: `category`, if there is one)",
        "",
    )
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.report.ratings_tables import tables_of
    from runner.scoring.ratings_file import Columns, read_ratings, report_of

    report = report_of(read_ratings(request.file, taken(Columns, request)))
    show_tables(report, tables_of(report), as_json=request.json)
    return OK
