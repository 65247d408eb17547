"""A registry of images with one image in it: what an engine asks of one to pull it, over HTTP.

Source: the OCI Distribution Specification, "Pull".
"""

from __future__ import annotations

import gzip
import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.models.doubles import Quiet, answered_by

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass
class Registry:
    """At `address`; `digest` is its image's, by which it is asked for."""

    manifest: bytes
    blobs: Mapping[str, bytes]
    address: str = ""
    asked: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        return digest_of(self.manifest)

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        self.asked.append(path)
        if path == "/v2/":
            return 200, "application/json", b"{}"
        _, _, last = path.rpartition("/")
        if "/manifests/" in path and last in ("latest", self.digest):
            return 200, MANIFEST, self.manifest
        if last in self.blobs:
            return 200, "application/octet-stream", self.blobs[last]
        return 404, "application/json", b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}'


def _part(kind: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "size": len(data), "digest": digest_of(data)}


def holding(tar: bytes, entrypoint: Sequence[str], labels: Mapping[str, str]) -> Registry:
    """One image of one layer."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "amd64")
    about = {
        "architecture": machine,
        "os": "linux",
        "config": {"Entrypoint": [*entrypoint], "Labels": {**labels}},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(tar)]},
    }
    config, layer = json.dumps(about).encode(), gzip.compress(tar, 1)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _part(CONFIG, config),
        "layers": [_part(LAYER, layer)],
    }
    blobs = {digest_of(data): data for data in (config, layer)}
    return Registry(manifest=json.dumps(manifest).encode(), blobs=blobs)


@contextmanager
def served(registry: Registry) -> Iterator[Registry]:
    """On a port of this machine's loopback."""

    def hand_out(request: Quiet) -> None:
        status, kind, body = registry.answer(request.path)
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        if kind == MANIFEST:
            request.send_header("Docker-Content-Digest", registry.digest)
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(body)

    with answered_by(hand_out) as url:
        registry.address = f"localhost:{urlsplit(url).port}"
        yield registry
