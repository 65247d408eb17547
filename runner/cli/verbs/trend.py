"""`fairtrial trend`: a server's figure by version, over the runs of a folder."""

from __future__ import annotations

from pathlib import Path

from runner.cli import opening, options, output


class Verb(options.Request):
    server: str = options.said("SERVER", "an arm's name, or how its versions' names begin")
    runs: Path | None = options.said("--runs DIR", "where the runs are (default: runs/)")
    svg: Path | None = options.said("--svg FILE", "draw it there (default: trend-SERVER.svg)")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.records.run_store import write_whole
    from runner.report.html.trend_drawing import trend_svg
    from runner.report.terminal import render_tables
    from runner.report.version_trend import trend_of, trend_table
    from runner.support.errors import FairtrialError

    runs = request.runs or opening.runs_of(request.root)
    points = trend_of(request.server, runs)
    if not points:
        hint = "`fairtrial run` and `fairtrial compare` leave report.json and compare.json there"
        raise FairtrialError(f"no run has a figure of {request.server}", where=str(runs), hint=hint)
    if request.json:
        output.show_json([it.model_dump(mode="json") for it in points])
    else:
        shown = [trend_table(request.server, points)]
        output.show(render_tables(shown, width=output.table_columns()))
    drawing = request.svg or runs / f"trend-{request.server}.svg"
    write_whole(drawing, trend_svg(request.server, points))
    output.tell(f"wrote {drawing}")
    return output.OK
