"""Runs beside the runner: llama.cpp's own server over one file of weights, until the runner ends.

Its first line of stdin is a JSON object of `Start`'s names; its one line of stdout is the address
at which it answers. It ends with its stdin, which the system closes however the runner ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

LOOPBACK = "127.0.0.1"


def main() -> None:
    start = json.loads(sys.stdin.readline())
    # Whatever the server's code prints would be taken for its address.
    answer = os.dup(1)
    os.dup2(2, 1)
    threading.Thread(target=_end_with_runner, daemon=True).start()
    try:
        server = _serve(start)
    except RuntimeError:
        sys.exit(1)  # why is told before, in the server's own words
    os.write(answer, f"{server.listening_address}\n".encode())
    threading.Event().wait()


def _end_with_runner() -> None:
    # Not by sys.stdin: Python would not come to its end while a thread waits there.
    while os.read(0, 1024):
        pass
    os._exit(0)


def _serve(start: dict[str, Any]) -> Any:
    """Raises RuntimeError for what cannot be loaded; why stands on stderr."""
    import xllamacpp  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra

    asked = xllamacpp.CommonParams()
    asked.model.path = start["path"]
    asked.model_alias = {start["name"]}
    asked.hostnames = [LOOPBACK]
    asked.port = 0
    # Any web page of a browser on this machine could ask it, else.
    asked.api_keys = [start["key"]]
    asked.n_ctx = start["context_tokens"]
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = start["threads"]
    asked.sampling.temp = start["temperature"]
    asked.sampling.seed = start["seed"]
    # One at a time: what is computed together depends on who else asks.
    asked.n_parallel = 1
    # It would shrink the context to the memory that is free, and other runs would differ.
    asked.fit_params = False
    # Prompts of earlier cells would come back from memory, and look like cheap ones.
    asked.cache_ram_mib = 0
    asked.warmup = False
    asked.ui = False
    asked.verbosity = 2
    return xllamacpp.Server(asked)


if __name__ == "__main__":
    main()
