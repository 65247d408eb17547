"""`fairtrial agreement`: do raters agree beyond chance?"""

from __future__ import annotations

from pathlib import Path

from runner.cli import options, output


class Verb(options.Request):
    file: Path = options.said(
        "FILE.csv",
        "a line for each item, a column for each rater; an item that one of those compared "
        "left blank, or on which people have no majority, is left out and counted",
    )
    people: tuple[str, ...] = options.repeatable(
        "--people", "; a column whose majority judges are held against"
    )
    raters: tuple[str, ...] = options.repeatable(
        "--rater", "; the other raters (default: all columns left)"
    )
    item: str = options.said("--item NAME", "the column that names items (default: the first)")
    category: str = options.said(
        "--category NAME", "a column to part the items by (default: `category`, if there is one)"
    )
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.report.ratings_tables import tables_of
    from runner.scoring.ratings_file import Columns, read_ratings, report_of

    report = report_of(read_ratings(request.file, options.taken(Columns, request)))
    return output.show_tables(report, tables_of(report), as_json=request.json)
