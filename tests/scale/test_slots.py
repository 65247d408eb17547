"""`--api-jobs` over workers: what a provider sees of them all together."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from runner.agents.models.model_settings import ApiSlots
from runner.runs.run_inputs import PreparedRun
from tests.helpers import PATIENCE_SEC
from tests.judges.reader import anthropic_stream
from tests.models.doubles import answered_by
from tests.models.test_remote import settings_for
from tests.scale.farm import Farm
from tests.scale.telling import Told, execute, measured
from tests.scale.tiny import Asking, Ground, tiny_cells, tiny_run

WORKERS = 3
CELLS = 12
MORE_SEC = 0.5
"""That a reply waits, once as many are open as should be: whoever may come, comes."""


class Provider:
    """It answers when as many as expected are asking, and counts them."""

    def __init__(self, together: int) -> None:
        self.together = together
        self.open = self.most = self.answered = 0
        self._changed = threading.Condition()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(int(handler.headers["content-length"]))
        with self._changed:
            self.open += 1
            self.most = max(self.most, self.open)
            self._changed.notify_all()
            # Fewer than may be would wait here for all the patience that there is.
            self._changed.wait_for(lambda: self.most >= self.together, PATIENCE_SEC)
        time.sleep(MORE_SEC)
        with self._changed:
            self.open -= 1
            self.answered += 1
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        for event in anthropic_stream("Hello."):
            handler.wfile.write(event)


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    with Farm(tmp_path_factory.mktemp("farm"), WORKERS) as farm:
        farm.wait(PATIENCE_SEC)
        yield farm


def asking(prepared: PreparedRun, url: str, limit: int | None) -> PreparedRun:
    given = replace(settings_for("anthropic", url), slots=ApiSlots(limit))
    return replace(prepared, models=given)


@pytest.mark.parametrize(("limit", "together"), [(2, 2), (None, WORKERS)])
def test_no_more_requests_than_asked_are_open_over_all_workers(
    farm: Farm, tmp_path: Path, limit: int | None, together: int
) -> None:
    provider = Provider(together)

    ground = Ground(ledger=tmp_path / "ledger")
    store, prepared = tiny_run(tmp_path / "run", tiny_cells(CELLS, ("shell",)), ground)
    with answered_by(provider.answer) as url:
        execute(farm, store, asking(prepared, url, limit), Told(), Asking())
    assert measured(store) == provider.answered == CELLS
    assert provider.most == together
