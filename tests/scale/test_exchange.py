"""A folder, an SFTP server and a bucket, each of them real, keep what workers need of them."""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import fsspec.config
import pytest

from runner.runs.executors import places
from runner.runs.executors.exchange import Exchange
from runner.runs.executors.exchange_check import check
from runner.runs.executors.lease import Held, Lease, take
from runner.runs.executors.published import PublishingStore, collect, collect_all
from runner.support.errors import FairtrialError, WorkerCut
from tests.helpers import PATIENCE_SEC
from tests.report.loaded import result
from tests.scale.farm import free_port, serving
from tests.scale.over_s3 import bucket
from tests.scale.servers import PASSWORD, USER, host_key, known
from tests.scale.tiny import Ground, tiny_cells, tiny_run

KINDS = ("folder", "sftp", "s3")


@contextmanager
def served(*words: str, port: int) -> Iterator[None]:
    with serving(words, port, Path(os.devnull)):
        yield


@pytest.fixture(scope="module")
def sftp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, folder = free_port(), tmp_path_factory.mktemp("sftp")
    with known(folder, port), served("sftp", str(port), str(folder), port=port):
        yield f"sftp://{USER}:{PASSWORD}@127.0.0.1:{port}"


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with bucket(Path(os.devnull)) as url:
        yield url


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    folder = f"of-{tmp_path.name}-{os.getpid()}"
    if request.param == "folder":
        return str(tmp_path / folder)
    return f"{request.getfixturevalue(request.param)}/{folder}"


def test_every_kind_of_place_keeps_what_workers_need_of_it(url: str) -> None:
    found = list(check(url))
    assert [promise.what for promise in found if promise.fault] == []
    assert len(found) == 4
    assert Exchange(url).names("check") == [], "it leaves nothing"


def test_an_attempt_arrives_as_it_was_published(url: str, tmp_path: Path) -> None:
    cells = tiny_cells(1)
    store, _ = tiny_run(tmp_path / "run", cells, Ground(ledger=tmp_path / "ledger"))
    lease = taken(url, "block")
    worker = PublishingStore(tmp_path / "worker", Exchange(url), lease, {}, "run")
    attempt = worker.begin(cells[0])
    transcript = attempt.path / "transcript.jsonl"
    with worker.transcript(attempt) as writer:
        ended = result(cells[0]).model_copy(
            update={"transcript": writer.digest, "plan": store.plan().digest}
        )
    transcript.touch()
    worker.finish(attempt, ended)
    arrived = collect(Exchange(url), store, [cells[0].id])
    assert [item.cell for item in arrived] == [cells[0]]
    counted = store.counted_attempt(cells[0].id)
    assert counted is not None
    assert counted.number == 1
    assert collect(Exchange(url), store, [cells[0].id]) == [], "once"
    assert Exchange(url).names("under-way") == []


LEASE_SEC = 8.0
"""Long enough for a first heartbeat over S3 on a busy machine, which makes a connection first."""


def taken(url: str, block: str, holder: str = "one", sec: float = LEASE_SEC) -> Lease:
    lease = take(Exchange(url), block, holder, sec)
    assert isinstance(lease, Lease)
    return lease


def test_a_lease_is_one_worker_s_while_it_lives_and_the_next_one_s_after(url: str) -> None:
    first = taken(url, "block", "one")
    with first.kept():
        assert take(Exchange(url), "block", "two", LEASE_SEC) == Held(holder="one")
        first.require()
    second = taken(url, "block", "two")
    assert second.lost == (), "the first one said that it had ended"
    # It gives no sign of life, as a worker that was killed.
    third = taken(url, "block", "three")
    assert third.lost == ("two",)
    assert third.is_newest()
    assert not second.is_newest()


# --- what breaks promises -----------------------------------------------------------------------


class Overwriting(places.Folder):
    """As an object store that knows no `If-None-Match`."""

    def put_new(self, name: str, data: bytes) -> None:
        self.put(name, data)


class Partial(places.Folder):
    """As a folder that is written to in place."""

    def put(self, name: str, data: bytes) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for start in range(0, len(data), 20_000):
                file.write(data[start : start + 20_000])
                file.flush()
                time.sleep(0.001)


class Late(places.Folder):
    """As a list that is kept for a while."""

    def names(self, under: str) -> list[str]:
        return super().names(under)[1:]


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        (Overwriting, "one is given it"),
        (Partial, "read whole"),
        (Late, "a list holds what is there"),
    ],
)
def test_a_place_that_keeps_less_is_found_out(
    kind: Callable[[str], places.Folder],
    broken: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(places.PLACES, "", (kind, ""))
    faults = [promise for promise in check(str(tmp_path)) if promise.fault]
    assert any(broken in promise.what for promise in faults)


def test_what_somebody_changed_on_its_way_is_no_result(tmp_path: Path) -> None:
    cells = tiny_cells(1)
    store, _ = tiny_run(tmp_path / "run", cells, Ground(ledger=tmp_path / "ledger"))
    url = str(tmp_path / "exchange")
    publish(url, tmp_path, cells[0].id)
    path = tmp_path / f"exchange/attempts/{cells[0].id}/1.zip"
    with zipfile.ZipFile(path) as archive:
        kept = archive.read("result.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("result.json", kept)
        archive.writestr("transcript.jsonl", '{"type":"prose"}\n')
    with pytest.raises(FairtrialError, match="not as it was put there"):
        collect(Exchange(url), store, [cells[0].id])
    assert store.counted_attempt(cells[0].id) is None


def publish(url: str, tmp_path: Path, cell_id: str) -> None:
    cell = next(cell for cell in tiny_cells(1) if cell.id == cell_id)
    worker = PublishingStore(tmp_path / "worker", Exchange(url), taken(url, "block"), {}, "run")
    attempt = worker.begin(cell)
    with worker.transcript(attempt) as writer:
        ended = result(cell).model_copy(update={"transcript": writer.digest})
    worker.finish(attempt, ended)


def test_a_worker_whose_block_is_another_s_by_now_publishes_a_cut_attempt(tmp_path: Path) -> None:
    cell = tiny_cells(1)[0]
    store, _ = tiny_run(tmp_path / "run", tiny_cells(1), Ground(ledger=tmp_path / "ledger"))
    url = str(tmp_path / "exchange")
    lease = taken(url, "block", "slow")
    slow = PublishingStore(tmp_path / "slow", Exchange(url), lease, {}, "run")
    attempt = slow.begin(cell)
    lease = taken(url, "block", "fast")
    fast = PublishingStore(tmp_path / "fast", Exchange(url), lease, {}, "run")
    assert fast.begin(cell).number == 2
    with slow.transcript(attempt) as writer:
        ended = result(cell).model_copy(update={"transcript": writer.digest})
    with pytest.raises(WorkerCut):
        slow.finish(attempt, ended)
    assert collect_all(Exchange(url), store) == []
    assert [path.name for path in store.attempt_folders(cell.id)] == [
        "attempt-1.partial",
        "attempt-2.partial",
    ]


def test_a_lease_that_cannot_be_renewed_ends_the_worker_s_turns(tmp_path: Path) -> None:
    lease = taken(str(tmp_path / "exchange"), "block", sec=0.4)
    lease.require()
    time.sleep(0.4)
    with pytest.raises(WorkerCut):
        lease.require()


def test_a_server_that_is_away_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    port = free_port()
    url = f"sftp://{USER}:{PASSWORD}@127.0.0.1:{port}/study"
    exchange = Exchange(url, patience_sec=PATIENCE_SEC)
    words = ("sftp", str(port), str(tmp_path))
    with known(tmp_path, port):
        with served(*words, port=port):
            assert exchange.put_new("leases/a", b"one")
        with served(*words, port=port):
            names = exchange.names("leases/")
            assert names == ["leases/a"], "a lost connection is no empty folder"
            assert exchange.get("leases/a") == b"one"
            assert not exchange.put_new("leases/a", b"two")


def test_a_server_that_nobody_knows_is_told_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, folder = free_port(), tmp_path / "served"
    folder.mkdir()
    url = f"sftp://{USER}:{PASSWORD}@127.0.0.1:{port}/study"
    words = ("sftp", str(port), str(folder))
    with known(folder, port), served(*words, port=port):
        Exchange(url).put("a", b"one")
        (tmp_path / "served.home/.ssh/known_hosts").unlink()
        with pytest.raises(FairtrialError, match="nobody has said that its key is SHA256:") as none:
            Exchange(url).get("a")
        assert "ssh-keyscan" in none.value.hint
        other = folder.with_name("other")
        host_key(other)
        key = (tmp_path / "other.pub").read_text()
        (tmp_path / "served.home/.ssh/known_hosts").write_text(f"[127.0.0.1]:{port} {key}")
        with pytest.raises(FairtrialError, match="its key is another than"):
            Exchange(url).get("a")
        (tmp_path / "served.home/.ssh/known_hosts").unlink()
        monkeypatch.setitem(fsspec.config.conf, "sftp", {"host_key_policy": "auto_add"})
        assert Exchange(url).get("a") == b"one", "who asks for it may know nobody"


def test_a_place_that_never_answers_is_an_error_with_where(tmp_path: Path) -> None:
    url = f"sftp://{USER}@127.0.0.1:{free_port()}/study"
    with pytest.raises(FairtrialError, match="cannot be reached") as caught:
        Exchange(url, patience_sec=0.2).names("leases")
    assert caught.value.where == url
    with pytest.raises(FairtrialError, match="over ftp://"):
        Exchange("ftp://x").names("leases")
