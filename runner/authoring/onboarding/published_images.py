"""A server that is published as an image: found or pulled, pinned, and read by its labels."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.authoring.onboarding.installed import InstalledPackage
from runner.protocols import Log
from runner.sandbox.engine import Engine, engine_faults
from runner.servers.image import ServerImage, find_image, inspected, require_image
from runner.support.errors import FairtrialError, ServerError

LABELS = "org.opencontainers.image."
"""Of the Open Container Initiative's annotations; an image that sets none may have its base's."""
SHORT = 12
_TAKES_VALUE = {
    "-v", "--volume", "--mount", "-e", "--env", "--env-file", "-p", "--publish", "-w", "--workdir",
    "-u", "--user", "--name", "--network", "--net", "--entrypoint", "--platform", "-m", "--memory",
    "--add-host", "--label", "-l", "--cpus",
}  # fmt: skip
_ADVICE = {
    ("-v", "--volume", "--mount"): "without -v: the repository is at /workspace, read-only",
    ("-e", "--env", "--env-file"): "for -e, --env NAME=VALUE",
    ("-p", "--publish", "--network", "--net"): "without -p or --network: a cell has loopback alone",
    ("--entrypoint",): "--entrypoint has no like here: the image's own program is what users get",
}


@dataclass(frozen=True, kw_only=True)
class DockerImage:
    """An image by its name, with a tag or none."""

    name: str
    digest: str
    """Hexadecimal, a registry's or the image's id; empty for the image that has the name now."""

    @property
    def text(self) -> str:
        return f"{self.name}@sha256:{self.digest}" if self.digest else self.name

    @property
    def repository(self) -> str:
        """Without the tag; a registry's port stays."""
        head, slash, last = self.name.rpartition("/")
        return f"{head}{slash}{last.partition(':')[0]}"


def pinned(asked: DockerImage, engine: Engine, log: Log) -> ServerImage:
    """On the engine, pulled if it was not. Raises ServerError if it cannot be."""
    if asked.digest:
        found = find_image(engine, asked.text)
        if found is None:
            _pull(asked, engine, log)
        return found or require_image(engine, asked.text, where=asked.name)
    about = inspected(engine, asked.name)
    if about is None:
        _pull(asked, engine, log)
        about = inspected(engine, asked.name)
    if about is None:
        raise ServerError("it was pulled, and the engine does not have it", where=asked.name)
    reference = _reference(asked, about)
    log(f"  guessed: the image of that name now, {reference}; docker:NAME@sha256:… overrides it")
    return require_image(engine, reference, where=asked.name)


def _reference(asked: DockerImage, about: Mapping[str, Any]) -> str:
    """By its registry's digest, by which others can pull it; one that has none by its id."""
    for name in about.get("RepoDigests") or ():
        if name.partition("@")[0] == asked.repository:
            return str(name)
    return f"{asked.name}@{about['Id']}"


def _pull(asked: DockerImage, engine: Engine, log: Log) -> None:
    log(f"  {asked.text} is not on the engine: pulling it")
    hint = f"`docker pull {asked.text}` says more; `docker images` shows what is there"
    with engine_faults("it cannot be pulled", kind=ServerError, where=asked.text, hint=hint):
        engine.images.pull(asked.text)


def described(image: ServerImage, name: str) -> InstalledPackage:
    """What its labels say of it, started as it starts itself."""
    said = {key.removeprefix(LABELS): text for key, text in image.labels.items()}
    return InstalledPackage(
        name=image.reference.partition("@")[0],
        version=said.get("version") or image.digest[:SHORT],
        licence=said.get("licenses", ""),
        homepage=said.get("url") or said.get("source") or said.get("documentation") or "",
        title=said.get("title") or said.get("description") or image.reference.partition("@")[0],
        entries={name: ()},
    )


def refuse_docker_run(words: Sequence[str]) -> None:
    """Raises FairtrialError for `docker run …`, with what to say here instead of each flag."""
    if [*words[:2]] not in (["docker", "run"], ["podman", "run"]):
        return
    flags, rest = _flags(words[2:])
    if not rest:
        raise FairtrialError("it names no image", where="docker run", hint="docker:IMAGE")
    command = f"fairtrial try docker:{rest[0]}"
    if len(rest) > 1:
        # With `=`: a value that begins with a hyphen would be taken for an option.
        command += f" --args={shlex.quote(shlex.join(rest[1:]))}"
    advice = [text for names, text in _ADVICE.items() if flags & {*names}]
    hint = "; ".join([f"`{command}`, with {{workspace}} for your folder", *advice])
    raise FairtrialError("an image is tried by its name", where="docker run", hint=hint)


def _flags(words: Sequence[str]) -> tuple[set[str], list[str]]:
    """The flags before the image, and the image with what comes after it."""
    flags: set[str] = set()
    left = list(words)
    while left and left[0].startswith("-"):
        flag, equals, _ = left.pop(0).partition("=")
        flags.add(flag)
        if flag in _TAKES_VALUE and not equals and left:
            left.pop(0)
    return flags, left
