"""An npm registry on this machine with one package in it."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def serving(package: Mapping[str, Any], *, breaks_off: int = 0) -> Iterator[tuple[str, str]]:
    """Of package.json: its address, and the package's integrity as a lock has it.

    `breaks_off`: in the middle of the package, the first so many times.
    """
    tarball, left = _packed(package), [None] * breaks_off
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()

    class Registry(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            dist = {"tarball": f"http://{self.headers['Host']}/it.tgz", "integrity": integrity}
            known = {
                "name": package["name"],
                "dist-tags": {"latest": package["version"]},
                "versions": {package["version"]: {**package, "dist": dist}},
            }
            is_package = self.path.endswith(".tgz")
            body = tarball if is_package else json.dumps(known).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if is_package and left:
                left.pop()
                body = body[: len(body) // 2]
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", integrity
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _packed(package: Mapping[str, Any]) -> bytes:
    packed = io.BytesIO()
    files = {"package.json": json.dumps(package).encode(), "index.js": b"1"}
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()
