"""`fairtrial cell show`: one cell of a run, page by page."""

from __future__ import annotations

import sys

from runner.cli import opening, options, output


class Verb(options.Request):
    run: str = options.said("RUN")
    cell: str = options.said("CELL", "its id, the beginning of it, or SCENARIO/SERVER/TRIAL")


def run(request: Verb) -> int:
    import pydoc
    from dataclasses import replace

    from runner.records.transcript_files import read_transcript
    from runner.report.cell_text import cell_text, chosen

    store = opening.open_run(request.root, request.run)
    found = chosen([store.load_cell(cell) for cell in store.plan().cells], request.cell)
    events = read_transcript(found.counted.transcript) if found.counted else ()
    card = store.stored_scorecard(found.cell.id)
    text = cell_text(replace(found, scorecard=card), events)
    if sys.stdout.isatty():
        pydoc.pager(text)
    else:
        output.show(text.rstrip("\n"))
    return output.OK
