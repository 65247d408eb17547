"""What a person tells a run that is at work on a cluster, by a file in its folder."""

from __future__ import annotations

from contextlib import suppress

from runner.records.run_store import RunStore, write_whole

_FILE = "told"


def write_told(store: RunStore, word: str) -> None:
    """`pause`, `resume` or `drain`."""
    write_whole(store.folder / _FILE, word)


def read_told(store: RunStore) -> str:
    """The last word; empty if there is none."""
    with suppress(FileNotFoundError):
        return (store.folder / _FILE).read_text(encoding="utf-8")
    return ""


def forget_told(store: RunStore) -> None:
    """A run that begins is told nothing yet."""
    (store.folder / _FILE).unlink(missing_ok=True)
