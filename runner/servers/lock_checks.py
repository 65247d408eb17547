"""A server's package locks, held against its definition and against the locks of other servers.

A folder that was copied brings the locks of the server it was copied from, and both `uv pip
compile` and npm keep the versions of a lock that is there: what is measured then is a set of
packages that no user would get.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from runner.records import ServerSpec, load_json, read_text
from runner.support.errors import CatalogError, FairtrialError, Problem

REQUIREMENTS, PACKAGES, NPM_LOCK = "requirements.txt", "package.json", "package-lock.json"
_FRESH = {
    REQUIREMENTS: (
        "uv pip compile --upgrade --universal --generate-hashes --no-header --no-annotate "
        "--python-version {python} requirements.in -o requirements.txt"
    ),
    NPM_LOCK: (
        "rm package-lock.json && npm install --package-lock-only "
        "--omit-lockfile-registry-resolved=true"
    ),
}
"""What makes each lock anew, whatever lock is there; `{python}` is the server's."""
LOCAL = "local"
"""How the version of a server ends whose own files are no package: `local`, `1.2.0+local`."""
MAX_LOCK_BYTES = 16 * 1024 * 1024
SHARED_ENOUGH = 8
"""Packages that two locks share, from which on all their versions being alike says something."""
_ENTRY = re.compile(
    r"""
    (?P<name> [A-Za-z0-9] [\w.-]* )
    (?: \[ [^]]* \] )?             # extras: mcp[cli]
    \s* (?: == \s* (?P<version> [^\s;\\,]+ ) )?
    """,
    re.VERBOSE,
)
_NODE_MODULE = re.compile(r"node_modules/((?:@[\w.-]+/)?[\w.-]+)")
"""`@scope/name` of {install}/node_modules/@scope/name/dist/index.js."""


class Server(Protocol):
    """A server's folder, read."""

    @property
    def spec(self) -> ServerSpec: ...
    @property
    def folder(self) -> Path: ...


@dataclass(frozen=True, kw_only=True)
class _Lock:
    """One lock, read."""

    file: str
    text: str
    pins: Mapping[str, frozenset[str]]
    """Package -> its versions: a lock for every platform may hold two."""
    wanted: Mapping[str, str]
    """Package that is asked for -> the version asked for, empty if any will do."""
    problems: tuple[str, ...]
    fresh: str = ""
    """The command that makes it anew."""


def require_own_locks(server: Server) -> None:
    """Raises CatalogError with every way in which the locks do not fit the definition."""
    where = _where(server.folder)
    locks = list(_locks(server))
    problems = []
    for lock in locks:
        for message in (*lock.problems, *_unmet(lock)):
            problems.append(Problem(where=f"{where}/{lock.file}", message=message))
    for message in _not_about(server.spec, locks):
        problems.append(Problem(where=f"{where}/server.yaml", message=message))
    if problems:
        made_anew = "; ".join(f"`{lock.fresh}`" for lock in locks)
        raise CatalogError(problems, hint=f"in {where}, a fresh lock: {made_anew}")


def lock_remarks(server: Server, others: Iterable[Server]) -> tuple[str, ...]:
    """What each lock installs, and whose lock it looks like. `server` may be among `others`."""
    if server.spec.image is not None:
        return (f"image {server.spec.image}",)
    locks = list(_locks(server))
    apart = [other for other in others if other.folder != server.folder]
    known = [(other.folder.name, list(_locks(other))) for other in apart]
    lines = []
    for lock in locks:
        lines.append(f"{lock.file}: {len(lock.pins)} packages, for {_asked(lock)}")
        theirs = {name: one for name, found in known for one in found if one.file == lock.file}
        lines += _likenesses(lock, theirs)
    return tuple(lines)


def _asked(lock: _Lock) -> str:
    shown = []
    for name, version in lock.wanted.items():
        versions = sorted(lock.pins.get(name, ())) or [version]
        shown.append(f"{name} {' or '.join(versions)}")
    return ", ".join(shown) or "nothing that requirements.in names"


# --- against the definition -----------------------------------------------------------------


def _unmet(lock: _Lock) -> Iterator[str]:
    for name, version in lock.wanted.items():
        pinned = lock.pins.get(name)
        if pinned is None:
            yield f"does not pin {name}, which is asked for"
        elif version and version not in pinned:
            yield f"pins {name} {' or '.join(sorted(pinned))}, and {version} is asked for"


def _not_about(spec: ServerSpec, locks: list[_Lock]) -> Iterator[str]:
    """Nothing of a server that brings its own files, whatever packages it needs beside them."""
    installed: dict[str, frozenset[str]] = {}
    for lock in locks:
        named = lock.wanted or lock.pins
        installed |= {name: lock.pins[name] for name in named if name in lock.pins}
    is_own = spec.version.endswith(LOCAL) or not installed
    if not is_own and not any(spec.version in versions for versions in installed.values()):
        listed = ", ".join(f"{name} {'/'.join(sorted(found))}" for name, found in installed.items())
        yield f"version is {spec.version}, and its locks install {listed[:300]}"
    pins = {name for lock in locks if lock.file == NPM_LOCK for name in lock.pins}
    for word in spec.command:
        found = _NODE_MODULE.search(word)
        if found and found[1] not in pins:
            yield f"command starts {found[1]}, which no lock installs"


# --- against the others ---------------------------------------------------------------------


def _likenesses(lock: _Lock, others: Mapping[str, _Lock]) -> Iterator[str]:
    """The likest lock alone: copied from one, it is like those that were copied from it, too."""
    same = [name for name, other in others.items() if other.text == lock.text]
    if same:
        yield f"{lock.file} is byte for byte that of {', '.join(same)}: {_anew(lock)}"
        return
    shared = {name: len(_shared(lock, other)) for name, other in others.items()}
    alike = [name for name, other in others.items() if _all_alike(lock, other)]
    likest = max(alike, key=lambda name: shared[name], default="")
    if likest:
        yield (
            f"{lock.file} has {likest}'s versions of all {shared[likest]} packages that both have; "
            f"if it began as a copy, they were kept: {_anew(lock)}"
        )


def _anew(lock: _Lock) -> str:
    return f"`{lock.fresh}` makes a fresh one"


def _shared(lock: _Lock, other: _Lock) -> set[str]:
    return set(lock.pins) & set(other.pins)


def _all_alike(lock: _Lock, other: _Lock) -> bool:
    shared = _shared(lock, other)
    return len(shared) >= SHARED_ENOUGH and all(
        lock.pins[name] == other.pins[name] for name in shared
    )


# --- reading --------------------------------------------------------------------------------


def _locks(server: Server) -> Iterator[_Lock]:
    """Raises FairtrialError for one that cannot be read."""
    readers = {REQUIREMENTS: _requirements, NPM_LOCK: _npm}
    for file, read in readers.items():
        if (server.folder / file).exists():
            fresh = _FRESH[file].format(python=server.spec.python)
            yield replace(read(server.folder), fresh=fresh)


def _text(path: Path) -> str:
    return read_text(path, where=_where(path), limit_bytes=MAX_LOCK_BYTES)


def _where(path: Path) -> str:
    """From the folder that holds `images`: `images/servers/x/requirements.txt`."""
    parts = path.parts
    top = max((at for at, part in enumerate(parts) if part == "images"), default=len(parts) - 1)
    return "/".join(parts[top:])


def _requirements(folder: Path) -> _Lock:
    text = _text(folder / REQUIREMENTS)
    pins: dict[str, frozenset[str]] = {}
    problems = []
    for entry in _entries(text):
        found = _ENTRY.match(entry)
        name = found["name"] if found else entry.split()[0]
        if not found or not found["version"]:
            problems.append(f"does not pin {name} with `==`: another day installs another version")
            continue
        if "--hash=" not in entry:
            problems.append(f"{name} has no hash: nothing would tell what was downloaded")
        pins[plain_name(name)] = pins.get(plain_name(name), frozenset()) | {found["version"]}
    wanted = {}
    if (folder / "requirements.in").exists():
        wanted = dict(map(_wanted, _entries(_text(folder / "requirements.in"))))
    return _Lock(file=REQUIREMENTS, text=text, pins=pins, wanted=wanted, problems=tuple(problems))


def _entries(text: str) -> list[str]:
    """Requirements, each with its hashes; no comments, and no options of pip's own."""
    joined = re.sub(r"(?m)(^|\s)#.*$", "", text).replace("\\\n", " ")
    lines = [line.strip() for line in joined.splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


def _wanted(entry: str) -> tuple[str, str]:
    found = _ENTRY.match(entry)
    if found is None:
        return entry, ""
    return plain_name(found["name"]), found["version"] or ""


def plain_name(name: str) -> str:
    """As package indexes compare names: `Typing_Extensions` is `typing-extensions`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _npm(folder: Path) -> _Lock:
    text = _text(folder / NPM_LOCK)
    packages = _objects(_json(folder / NPM_LOCK, text).get("packages"))
    pins: dict[str, frozenset[str]] = {}
    problems = []
    for path, package in packages.items():
        _, inside, name = path.rpartition("node_modules/")
        # The folder itself has no version; a link leads to a folder beside it.
        if not inside or package.get("link"):
            continue
        pins[name] = pins.get(name, frozenset()) | {str(package.get("version"))}
        # What a package brings inside itself is under that package's own digest.
        if "integrity" not in package and not package.get("inBundle"):
            problems.append(f"{name} has no integrity: nothing would tell what was downloaded")
    wanted = _dependencies(folder)
    return _Lock(file=NPM_LOCK, text=text, pins=pins, wanted=wanted, problems=tuple(problems))


def _dependencies(folder: Path) -> dict[str, str]:
    """Of package.json: an exact version, or empty where a range is asked for."""
    if not (folder / PACKAGES).exists():
        return {}
    given = _json(folder / PACKAGES, _text(folder / PACKAGES)).get("dependencies")
    if not isinstance(given, dict):
        return {}
    return {name: str(asked) if str(asked)[:1].isdigit() else "" for name, asked in given.items()}


def _json(path: Path, text: str) -> dict[str, Any]:
    try:
        found = load_json(text)
    except ValueError as error:
        raise FairtrialError(f"not usable JSON: {error}", where=_where(path)) from error
    if not isinstance(found, dict):
        raise FairtrialError("holds no object", where=_where(path))
    return found


def _objects(value: object) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict):
        return {}
    return {str(name): item for name, item in value.items() if isinstance(item, dict)}


def locked_packages(server: Server) -> dict[str, str]:
    """`npm:NAME` or `pypi:NAME` -> the versions that its locks install, such as `1.2.0, 2.0.1`."""
    found = {}
    for lock in _locks(server):
        kind = "npm" if lock.file == NPM_LOCK else "pypi"
        for name, versions in lock.pins.items():
            found[f"{kind}:{name}"] = ", ".join(sorted(versions))
    return found
