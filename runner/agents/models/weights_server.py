"""Weights on this machine: a GGUF file, and the server that answers from it for one run."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import select
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from runner.agents.models.model_settings import Endpoint, LocalSettings, ModelSettings, WeightsFile
from runner.protocols import Log
from runner.records import digest_of
from runner.support.errors import FairtrialError

PREFIX = "local:"
HINT = "give the path of a .gguf file: local:<path.gguf>"
PACKAGE = "xllamacpp"
TEMPERATURE = 0.0
SEED = 1
START_SEC = 900.0
"""For tens of gigabytes from a slow disk."""
LAST_LINES = 8
_MAGIC = b"GGUF"
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf")


# --- the file -------------------------------------------------------------------------------


def locate_weights(models: Iterable[str], log: Log) -> tuple[list[str], dict[str, WeightsFile]]:
    """The models' names without folders, and the weights behind those that are local.

    `local:/models/small.gguf` -> `local:small.gguf`: where a file lies changes nothing that it
    answers, and is nobody's business who reads the report. Raises FairtrialError for a file that
    cannot be served.
    """
    names: list[str] = []
    files: dict[str, WeightsFile] = {}
    for model in models:
        name = short_name(model)
        names.append(name)
        if model.startswith(PREFIX) and model != PREFIX:
            argument = name.removeprefix(PREFIX)
            found = find(model.removeprefix(PREFIX), log)
            if files.setdefault(argument, found) != found:
                hint = "rename one of them"
                raise FairtrialError(f"two files are called {argument}", hint=hint)
    return list(dict.fromkeys(names)), files


def short_name(model: str) -> str:
    """A model's name, without the folder of local weights."""
    path = model.removeprefix(PREFIX)
    return model if path == model else PREFIX + Path(path).name


def find(path: str, log: Log) -> WeightsFile:
    """The file, by its content. Raises FairtrialError if it is no whole GGUF file."""
    file = Path(path)
    _require_gguf(file)
    size_gb = file.stat().st_size / 1e9
    log(f"reading {file.name} ({size_gb:.1f} GB) for its SHA256")
    with file.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return WeightsFile(path=str(file.resolve()), sha256=sha256)


def _require_gguf(file: Path) -> None:
    if not file.is_file():
        raise FairtrialError("there are no weights", where=str(file), hint=HINT)
    with file.open("rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise FairtrialError("this is no GGUF file", where=str(file), hint=HINT)
    if _PART.search(file.name):
        # The digest of one part would stand for weights that lie in the others, too.
        hint = "join them first, with llama.cpp's gguf-split --merge"
        raise FairtrialError("this is one part of several", where=str(file), hint=hint)


# --- the server -----------------------------------------------------------------------------


def server_version() -> str:
    """Raises FairtrialError if the package that serves weights is not installed."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError as error:
        raise FairtrialError(
            f"{PREFIX} needs the {PACKAGE} package, which is not installed",
            hint="install it with `pip install 'fairtrial[local]'`",
        ) from error


def parameters(settings: LocalSettings) -> dict[str, float]:
    """What the server is started with, besides the file."""
    return {
        "context_tokens": settings.context_tokens,
        "threads": settings.threads,
        "temperature": TEMPERATURE,
        "seed": SEED,
    }


def identity(weights: WeightsFile, settings: LocalSettings) -> str:
    """Digest of all that could change an answer, or its seconds; not of where the file lies."""
    return digest_of([weights.sha256, server_version(), parameters(settings)])


@contextmanager
def served(
    models: Iterable[str], settings: ModelSettings, environ: Mapping[str, str], log: Log
) -> Iterator[ModelSettings]:
    """A server for each local model of these, for as long as the block lasts.

    `environ`: of the servers. Raises FairtrialError, with its last lines, if one does not come up.
    """
    local = settings.local
    names = {model.removeprefix(PREFIX) for model in models if model.startswith(PREFIX)}
    with ExitStack() as servers:
        at = {}
        for name in sorted(names):
            at[name] = servers.enter_context(_serving(name, local, environ, log))
        yield replace(settings, local=replace(local, served=at))


@contextmanager
def _serving(
    name: str, settings: LocalSettings, environ: Mapping[str, str], log: Log
) -> Iterator[Endpoint]:
    log(f"loading {name}; its tokens cost no dollars")
    with TemporaryFile() as said, _started(environ, said) as process:
        endpoint = None
        try:
            endpoint = _told(process, name, settings)
            if endpoint is None:
                what = f"the server of {name} did not come up; its last lines:\n{_last(said)}"
                raise FairtrialError(what, hint="is the file whole, and is there memory for it?")
            yield endpoint
        finally:
            if process.poll() is not None and endpoint is not None:
                log(f"the server of {name} ended before the run; its last lines:\n{_last(said)}")
            process.kill()


def _started(environ: Mapping[str, str], said: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "runner.agents.models.weights_host"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said,
        # Beside other work its threads would spin for each other, and come to a hundredth.
        env={**environ, "GOMP_SPINCOUNT": "0"},
        # Ctrl-C is for the runner: cells under way are still to be recorded.
        start_new_session=True,
    )


def _told(process: subprocess.Popen[bytes], name: str, settings: LocalSettings) -> Endpoint | None:
    """Where the server answers; None if it has ended, or says nothing for too long."""
    assert process.stdin is not None  # noqa: S101 - a pipe, as asked for
    assert process.stdout is not None  # noqa: S101
    weights = settings.files[name]
    key = secrets.token_hex(16)
    start = {"path": weights.path, "name": name, "key": key, **parameters(settings)}
    try:
        process.stdin.write(f"{json.dumps(start)}\n".encode())
        process.stdin.flush()
    except BrokenPipeError:
        return None
    ready, _, _ = select.select([process.stdout], [], [], START_SEC)
    address = process.stdout.readline().decode().strip() if ready else ""
    return Endpoint(key=key, url=f"{address}/v1") if address else None


def _last(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-LAST_LINES:])
