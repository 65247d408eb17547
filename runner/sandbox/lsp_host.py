"""Runs inside a container without network: asks a language server where things are.

Its source is handed to `python3 -I -c` on the container's own Python, so it stands alone: standard
library only, nothing imported from the project.

`JOB` (argv[1]) is a JSON file:
`tree`, copied to `root`, where the server may write; `removed`, names of files that are taken out
of the copy; `files`, path -> text, written into it; `copied`, place -> what is copied there, a
program or a folder to write in;
`command`, `environment`, `options` of initialize, `settings`, section -> value;
`settle_sec` without progress, before it counts as ready; `ready_sec` at most until it is;
`asks`, {id, method, path, line, column, language} each: line and column from 0, in UTF-16 units.
Prints one JSON line: `answers` (id -> [[path, line from 1], …], or null for no answer in time),
`version`, `ready_sec`, `wall_sec`.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote

ASK_SEC = 120
ROUNDS = 4
STALE_SEC = 25
"""Some begin a progress that they never end."""
METHODS = ("references", "definition", "implementation")
_HEADER_BYTES = 4096


class LanguageServer:
    """One language server, over its stdin and stdout."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job, self.root = job, Path(job["root"])
        self._next, self._busy, self._quiet_since = 0, set[str](), time.monotonic()
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 - our own list
            job["command"],
            cwd=self.root,
            env={**os.environ, **job["environment"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        threading.Thread(target=self._read, daemon=True).start()

    # --- messages ---

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        pipe = self._process.stdin
        if pipe is not None:
            with self._lock:
                pipe.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
                pipe.flush()

    def notify(self, method: str, params: object) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, params: object, limit_sec: float) -> Any:
        """The result; TimeoutError past the limit, ValueError for an error."""
        self._next += 1
        waiting = self._answers[self._next] = queue.Queue()
        self.send({"id": self._next, "method": method, "params": params})
        try:
            answer = waiting.get(timeout=limit_sec)
        except queue.Empty:
            raise TimeoutError(method) from None
        if "error" in answer:
            raise ValueError(str(answer["error"])[:300])
        return answer.get("result")

    def _read(self) -> None:
        pipe = self._process.stdout
        while pipe is not None and (message := read_message(pipe)) is not None:
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            waiting = self._answers.pop(int(message["id"]), None)
            if waiting:
                waiting.put(message)
        elif "id" in message:
            self.send({"id": message["id"], "result": self._reply(method, message.get("params"))})
        else:
            self._told(method, message.get("params") or {})

    def _reply(self, method: str, params: Any) -> Any:
        if method != "workspace/configuration":
            return None
        settings = self.job["settings"]
        return [settings.get(item.get("section", "")) for item in params["items"]]

    def _told(self, method: str, params: dict[str, Any]) -> None:
        if method == "$/progress":
            token, kind = str(params.get("token")), params.get("value", {}).get("kind")
            if kind == "end":
                self._busy.discard(token)
            else:
                self._busy.add(token)
            self._quiet_since = time.monotonic()

    # --- its life ---

    def start(self) -> str:
        """What it calls itself."""
        uri = uri_of(self.root)
        progress = {"workDoneProgress": True}
        workspace = {"configuration": True, "workspaceFolders": True, "symbol": {}}
        asked: dict[str, Any] = {name: {} for name in METHODS}
        known = {"window": progress, "workspace": workspace, "textDocument": asked}
        began = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri,
                "rootPath": str(self.root),
                "workspaceFolders": [{"uri": uri, "name": "tree"}],
                "capabilities": known,
                "initializationOptions": self.job["options"],
            },
            ASK_SEC,
        )
        self.notify("initialized", {})
        self.notify("workspace/didChangeConfiguration", {"settings": self.job["settings"]})
        info = (began or {}).get("serverInfo") or {}
        return f"{info.get('name', '')} {info.get('version', '')}".strip()

    def open(self, path: str, language: str) -> None:
        text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        document = {"uri": uri_of(self.root / path), "languageId": language, "version": 1}
        self.notify("textDocument/didOpen", {"textDocument": {**document, "text": text}})

    def wait_until_ready(self) -> None:
        """Until it says so, or has shown no progress for a while."""
        give_up = time.monotonic() + self.job["ready_sec"]
        while time.monotonic() < give_up and self._process.poll() is None:
            settle = STALE_SEC if self._busy else self.job["settle_sec"]
            if time.monotonic() - self._quiet_since > settle:
                return
            time.sleep(0.2)

    def settled(self, asks: list[dict[str, Any]]) -> dict[str, Any]:
        """Asked again until two rounds agree: the first ones may come from half of the tree."""
        answers: dict[str, Any] = {}
        for _ in range(ROUNDS):
            before, answers = answers, {it["id"]: self.ask(it) for it in asks}
            if answers == before:
                break
            self.wait_until_ready()
        return answers

    def ask(self, ask: dict[str, Any]) -> list[list[Any]] | None:
        place: dict[str, Any] = {
            "textDocument": {"uri": uri_of(self.root / ask["path"])},
            "position": {"line": ask["line"], "character": ask["column"]},
        }
        if ask["method"] == "references":
            place["context"] = {"includeDeclaration": True}
        try:
            found = self.request(f"textDocument/{ask['method']}", place, ASK_SEC)
        except (TimeoutError, ValueError, OSError) as error:
            print(f"{ask['id']}: {error}", file=sys.stderr)  # noqa: T201 - the builder's log
            return None
        found = found if isinstance(found, list) else [found] if found else []
        places = filter(None, map(self._place, found))
        return [list(it) for it in sorted(set(places))]

    def _place(self, location: dict[str, Any]) -> tuple[str, int] | None:
        """In the tree; None outside of it."""
        uri = location.get("uri") or location.get("targetUri", "")
        span = location.get("range") or location.get("targetSelectionRange", {})
        path = unquote(uri.removeprefix("file://"))
        if not uri.startswith("file://") or not path.startswith(f"{self.root}/"):
            return None
        return path.removeprefix(f"{self.root}/"), span["start"]["line"] + 1

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def read_message(pipe: IO[bytes]) -> dict[str, Any] | None:
    """None at the end."""
    length = 0
    while line := pipe.readline(_HEADER_BYTES).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        return None
    message: dict[str, Any] = json.loads(pipe.read(length))
    return message


def uri_of(path: Path) -> str:
    return "file://" + quote(str(path))


def lay_out(job: dict[str, Any]) -> None:
    """The copy that the server works in."""
    root = Path(job["root"])
    shutil.copytree(job["tree"], root, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    unwanted = set(job["removed"])
    for path in list(root.rglob("*")) if unwanted else ():
        if path.name in unwanted and path.is_file():
            path.unlink()
    for name, text in job["files"].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for place, source in job["copied"].items():
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        if Path(source).is_dir():
            shutil.copytree(source, place)
        else:
            shutil.copyfile(source, place)
            Path(place).chmod(0o755)


def main(job_file: str) -> None:
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    started = time.monotonic()
    lay_out(job)
    server = LanguageServer(job)
    try:
        version = server.start()
        # Some begin to read the rest of the tree only when a file of it is opened.
        for path, language in {it["path"]: it["language"] for it in job["asks"]}.items():
            server.open(path, language)
        server.wait_until_ready()
        ready = time.monotonic() - started
        answers = server.settled(job["asks"])
    finally:
        server.end()
    wall = time.monotonic() - started
    told = {"answers": answers, "version": version, "ready_sec": ready, "wall_sec": wall}
    print(json.dumps(told))  # noqa: T201 - what the runner reads


if __name__ == "__main__":
    main(sys.argv[1])
