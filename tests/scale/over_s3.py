"""Cells whose evidence goes through a bucket of a real server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from runner.records.run_store import RunStore
from tests.helpers import PATIENCE_SEC
from tests.scale.farm import Farm, free_port, serving
from tests.scale.telling import Told, execute
from tests.scale.tiny import Ground, tiny_cells, tiny_run


@contextmanager
def bucket(log: Path) -> Iterator[str]:
    """Its URL; the environment names the server meanwhile, as a worker's does."""
    import s3fs  # every worker of pytest collects this file

    port = free_port()
    environ = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "of-the-test",
        "AWS_SECRET_ACCESS_KEY": "of-the-test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with serving(("s3", str(port)), port, log), mock.patch.dict(os.environ, environ):
        s3fs.S3FileSystem(skip_instance_cache=True).mkdir("study")
        yield "s3://study"


def over_s3(folder: Path, *, cells: int, workers: int) -> RunStore:
    with bucket(folder / "s3.log") as url, Farm(folder, workers, exchange=f"{url}/run") as farm:
        farm.wait(PATIENCE_SEC)
        ground = Ground(ledger=folder / "ledger", turn_sec=0.01, turns=1)
        store, prepared = tiny_run(folder / "run", tiny_cells(cells // 2), ground)
        execute(farm, store, prepared, Told())
    return store
