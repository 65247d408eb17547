"""Images for tests: one on our base, and one with little more than a program in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import docker

from runner.sandbox.builder import tar_of

FOREIGN = (Path(__file__).parent / "foreign_server.pl.txt").read_text(encoding="utf-8")
FOREIGN_ENTRYPOINT = ["/usr/bin/perl", "/server.pl"]
LABELS = {
    "fairtrial": "test",
    "org.opencontainers.image.version": "2.5",
    "org.opencontainers.image.licenses": "Zlib",
}


def _changes(changes: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    return [*changes, *(f'LABEL {key}="{value}"' for key, value in labels.items())]


@contextmanager
def committed(
    engine: docker.DockerClient, base: str, files: Mapping[str, str], *changes: str, name: str = ""
) -> Iterator[str]:
    """The base with files in it; the image's id. `changes`: lines of a Dockerfile."""
    made = engine.api.create_container(base, command=["true"], labels={"fairtrial": "test"})
    try:
        packed = {path: text.encode() for path, text in files.items()}
        engine.api.put_archive(made["Id"], "/", tar_of(packed))
        image = engine.api.commit(made["Id"], name or None, changes=_changes(changes, LABELS))
    finally:
        engine.api.remove_container(made["Id"])
    try:
        yield str(image["Id"])
    finally:
        engine.api.remove_image(image["Id"], force=True)


def foreign_root(engine: docker.DockerClient, base: str) -> bytes:
    """A tar of an interpreter, its libraries and a server: no shell, no Python, nothing of ours."""
    script = (
        "mkdir /tmp/root && cd /tmp/root && for file in $(ldd /usr/bin/perl | grep -o '/[^ ]*') "
        '/usr/bin/perl; do mkdir -p ".$(dirname $file)" && cp -L $file .$file; done && '
        'printf "%s" "$SERVER" > server.pl && tar -cf - . | base64 -w0'
    )
    # As text: the engine's log mends what is not UTF-8.
    said = engine.containers.run(
        base,
        ["sh", "-c", script],
        environment={"SERVER": FOREIGN},
        remove=True,
        network_mode="none",
        labels={"fairtrial": "test"},
    )
    return base64.b64decode(said)


@contextmanager
def foreign(engine: docker.DockerClient, base: str, name: str, *changes: str) -> Iterator[str]:
    """An image that is not on our base; the image's id."""
    repository, _, tag = name.partition(":")
    start = f"ENTRYPOINT {json.dumps(FOREIGN_ENTRYPOINT)}"
    engine.api.import_image_from_data(
        foreign_root(engine, base),
        repository=repository,
        tag=tag,
        changes=_changes((start, *changes), LABELS),
    )
    image = engine.images.get(name)
    try:
        yield str(image.id)
    finally:
        engine.api.remove_image(str(image.id), force=True)
