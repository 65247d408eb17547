"""An npm registry on this machine with one package in it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.models.doubles import Quiet, answered_by


@contextmanager
def serving(package: Mapping[str, Any], *, breaks_off: int = 0) -> Iterator[tuple[str, str]]:
    """Of package.json: its address, and the package's integrity as a lock has it.

    `breaks_off`: in the middle of the package, the first so many times.
    """
    tarball, left = _packed(package), [None] * breaks_off
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()

    def hand_out(request: Quiet) -> None:
        dist = {"tarball": f"http://{request.headers['Host']}/it.tgz", "integrity": integrity}
        known = {
            "name": package["name"],
            "dist-tags": {"latest": package["version"]},
            "versions": {package["version"]: {**package, "dist": dist}},
        }
        is_package = request.path.endswith(".tgz")
        body = tarball if is_package else json.dumps(known).encode()
        request.send_response(200)
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        if is_package and left:
            left.pop()
            body = body[: len(body) // 2]
        request.wfile.write(body)

    with answered_by(hand_out) as url:
        yield f"{url}/", integrity


def _packed(package: Mapping[str, Any]) -> bytes:
    packed = io.BytesIO()
    files = {"package.json": json.dumps(package).encode(), "index.js": b"1"}
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()
