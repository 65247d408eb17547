"""A real browser, by its DevTools protocol: Chromium as Debian has it, and nothing else."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_SEC = 60.0


def found() -> str | None:
    """The browser's path; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of it. What it asked of a network is in `requests`, what its policy refused in
    `refused`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        self.refused: list[str] = []
        self._loaded = False
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.do(f"{domain}.enable")

    def do(self, method: str, **params: Any) -> Any:
        """What a command returns. Raises AssertionError for one that fails."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            said = self._receive()
            if said.get("id") == number:
                assert "error" not in said, said
                return said["result"]

    def _receive(self) -> Any:
        said = json.loads(self._socket.recv(timeout=PATIENCE_SEC))
        method = said.get("method")
        if method == "Network.requestWillBeSent":
            self.requests.append(said["params"]["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
            self.refused.append(said["params"]["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.refused.append(str(said["params"]["exceptionDetails"]))
        return said

    def open(self, path: Path, anchor: str = "") -> None:
        # Else a page that differs in its anchor alone would not be loaded anew.
        self._navigate("about:blank")
        self.requests.clear()
        self.refused.clear()
        self._navigate(path.as_uri() + anchor)

    def _navigate(self, url: str) -> None:
        self._loaded = False
        self.do("Page.navigate", url=url)
        while not self._loaded:
            self._receive()

    def loaded(self) -> None:
        """Waits until a page stands that something on the last one led to."""
        until = time.monotonic() + PATIENCE_SEC
        while time.monotonic() < until:
            if self.asked("document.readyState === 'complete' && performance.now() > 100"):
                return
            time.sleep(0.05)
        raise AssertionError("no page came")

    def asked(self, expression: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        result = self.do(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def looks(self, *, width: int = 1100, height: int = 900, dark: bool = False) -> None:
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])

    def scripts(self, *, on: bool) -> None:
        self.do("Emulation.setScriptExecutionDisabled", value=not on)

    def press(self, key: str) -> None:
        code = {"Enter": 13, "Tab": 9, "Escape": 27}.get(key, 0)
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.do(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **more,
            )

    def click(self, selector: str) -> None:
        """With a mouse, where it stands."""
        place = self.asked(
            f"(() => {{ const it = document.querySelector({json.dumps(selector)});"
            "it.scrollIntoView({block: 'center'}); const box = it.getClientRects()[0];"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            x, y = place
            self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        time.sleep(0.1)

    def picture(self, path: Path, *, quality: int = 60) -> None:
        """What is in view, as WebP."""
        shot = self.do("Page.captureScreenshot", format="webp", quality=quality)
        path.write_bytes(base64.b64decode(shot["data"]))

    def printed(self) -> bytes:
        return base64.b64decode(self.do("Page.printToPDF")["data"])


@contextmanager
def opened() -> Iterator[Browser]:
    """A browser of its own, ended with all it started."""
    path = found()
    assert path is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [
            path,
            "--headless=new",
            # It runs as root in a container, where its own sandbox cannot start.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--remote-debugging-address=127.0.0.1",
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
            "about:blank",
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with connect(_page_of(Path(folder)), max_size=None, proxy=None) as socket:
                yield Browser(socket)
        finally:
            process.terminate()
            process.wait(PATIENCE_SEC)


def _page_of(folder: Path) -> str:
    """The address of its first page; the port is its own choice, and it writes it down."""
    from urllib.request import urlopen

    until = time.monotonic() + PATIENCE_SEC
    port = folder / "DevToolsActivePort"
    while time.monotonic() < until:
        if port.is_file() and (lines := port.read_text().split()):
            with urlopen(f"http://127.0.0.1:{lines[0]}/json", timeout=PATIENCE_SEC) as answer:
                for target in json.load(answer):
                    if target["type"] == "page":
                        return str(target["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise AssertionError("the browser did not start")
