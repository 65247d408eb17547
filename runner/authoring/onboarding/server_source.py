"""What a person names to be tried: a package, an image, a folder, or a command."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from runner.authoring.onboarding.published_images import DockerImage, refuse_docker_run
from runner.support.errors import FairtrialError

_NPM = re.compile(
    r"(?P<name>(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*)(?:@(?P<version>[\w.+~^-]+))?"
)
_PYPI = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)(?:\[(?P<extras>[\w.,-]+)\])?(?:==(?P<version>[\w.+!-]+))?"
)
_IMAGE = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*(?::\d+(?=/))?(?:/[\w.-]+)*(?::[\w.-]+)?)"
    r"(?:@sha256:(?P<digest>[0-9a-f]{64}))?"
)
NONE = "none"
"""`--scripts none`, `--with none`: add nothing, whatever it lacks."""
HINT = (
    "npm:NAME[@VERSION], pypi:NAME[==VERSION], docker:IMAGE[@sha256:DIGEST], a folder or file, "
    "or -- COMMAND"
)


@dataclass(frozen=True, kw_only=True)
class NpmPackage:
    """A package of npm's registry."""

    name: str
    version: str
    """Empty for the newest."""
    also: tuple[str, ...] = ()
    """Packages that it needs and does not name."""
    scripts: tuple[str, ...] = ()
    """Packages whose install scripts are run; `none` forbids to guess any."""
    programs: tuple[str, ...] = ()
    """Packages of programs that it runs and does not bring: `npm:pyright`, `pypi:ruff`."""

    @property
    def wanted(self) -> str:
        return self.version or "latest"


@dataclass(frozen=True, kw_only=True)
class PypiPackage:
    """A package of the Python Package Index."""

    name: str
    version: str
    """Empty for the newest."""
    extras: str = ""
    """Such as `cli,mcp`."""
    also: tuple[str, ...] = ()
    """Packages that it needs and does not name."""
    programs: tuple[str, ...] = ()
    """As of NpmPackage."""

    @property
    def requirement(self) -> str:
        extras = f"[{self.extras}]" if self.extras else ""
        version = f"=={self.version}" if self.version else ""
        return f"{self.name}{extras}{version}"


@dataclass(frozen=True, kw_only=True)
class LocalPath:
    """A folder with a package.json or a pyproject.toml, or one file that can be run."""

    path: Path
    scripts: tuple[str, ...] = ()
    """Of npm packages that it needs, as of NpmPackage."""
    programs: tuple[str, ...] = ()
    """As of NpmPackage."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command; the files it names are copied."""

    words: tuple[str, ...]


ServerSource = NpmPackage | PypiPackage | DockerImage | LocalPath | Command


def read_asked(text: str, command: tuple[str, ...]) -> ServerSource:
    """Raises FairtrialError if it is none of what can be tried."""
    if command:
        refuse_docker_run(command)
        return Command(words=command)
    kind, colon, rest = text.partition(":")
    if colon and kind == "npm":
        found = _matched(_NPM, rest, text)
        return NpmPackage(name=found["name"], version=found["version"] or "")
    if colon and kind == "pypi":
        found = _matched(_PYPI, rest, text)
        extras = found["extras"] or ""
        return PypiPackage(name=found["name"], version=found["version"] or "", extras=extras)
    if colon and kind == "docker":
        found = _matched(_IMAGE, rest, text)
        return DockerImage(name=found["name"], digest=found["digest"] or "")
    path = Path(text)
    if path.exists():
        return LocalPath(path=path.resolve())
    raise FairtrialError("there is no such file, and it names no package", where=text, hint=HINT)


def _matched(pattern: re.Pattern[str], rest: str, text: str) -> re.Match[str]:
    found = pattern.fullmatch(rest)
    if found is None:
        kind = "image" if pattern is _IMAGE else "package"
        raise FairtrialError(f"that is no {kind}'s name", where=text, hint=HINT)
    return found


def slug_of(asked: ServerSource) -> str:
    """The server's name in files and reports: letters, digits and hyphens."""
    if isinstance(asked, (NpmPackage, PypiPackage)):
        scope, _, words = asked.name.rpartition("/")
        # `@acme/mcp` alone would be called mcp, like a hundred others.
        if "-" not in words:
            words = f"{scope}-{words}"
    elif isinstance(asked, DockerImage):
        words = asked.repository.rpartition("/")[2]
    elif isinstance(asked, LocalPath):
        words = asked.path.stem
    else:
        files = [word for word in asked.words if Path(word).is_file()]
        words = Path((files or asked.words)[0]).stem
    plain = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    # `shell` is the baseline's name.
    return {"": "server", "shell": "shell-server"}.get(plain, plain)[:40].rstrip("-")
