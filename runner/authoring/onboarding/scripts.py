"""Install scripts of npm packages: which are not run, which would have made what a server lacks.

Nothing that npm installs runs code of its own here, unless package.json allows it by npm's own
`allowScripts`: then it runs in the builder, as a user without rights, and no lock holds what it
fetches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.authoring.onboarding.fetched import GRAMMARS
from runner.authoring.onboarding.server_source import NONE, LocalPath, NpmPackage, ServerSource
from runner.records import load_json
from runner.support.errors import FairtrialError

LACKS = re.compile(
    r"Could not locate the bindings file|No native build was found|[Cc]annot find native binding"
    r"|Cannot find module '[^']*\.node'|different Node\.js version|ERR_DLOPEN_FAILED"
    r"|invalid ELF header|[Nn]ative (?:module|addon|binding)s? (?:is |was |are )?(?:not|could not)"
    # A line of the places where it was looked for: what stands above them may be cut off.
    r"|^\s*(?:→ |')\S*node_modules/\S+\.node'?,?$"
    # A program that a script would have fetched.
    r"|\b[Tt]ry reinstalling\b|\b[Rr]einstall the package\b|\b(?:post-?)?install script\b"
    r"|spawn \S*node_modules/\S+ (?:ENOENT|EACCES)",
    re.MULTILINE,
)
_OF_PACKAGE = re.compile(r"node_modules/((?:@[\w.-]+/)?[\w.-]+)")


def with_scripts(
    asked: ServerSource, folder: Path, texts: Iterable[str]
) -> NpmPackage | LocalPath | None:
    """The same with the install scripts that would have made what its complaints miss.

    Those of the packages that a complaint names, else of all. None if it does not complain of such
    a thing, or if no script is left to be run.
    """
    said = [text for text in texts if LACKS.search(text)]
    if not said or not isinstance(asked, (NpmPackage, LocalPath)) or asked.scripts == (NONE,):
        return None
    left = [name for name in packages_with_scripts(folder) if name not in asked.scripts]
    named = [name for text in said for name in _OF_PACKAGE.findall(text) if name in left]
    more = tuple(dict.fromkeys(named or left))
    return replace(asked, scripts=(*asked.scripts, *more)) if more else None


def allowed(names: Iterable[str]) -> dict[str, bool]:
    """As package.json has it."""
    return {name: True for name in names if name != NONE}


def require_scripts(folder: Path, names: Iterable[str]) -> None:
    """Raises FairtrialError for the name of a package that has none."""
    there = packages_with_scripts(folder)
    for name in allowed(names):
        if name not in there:
            hint = f"those that have are: {', '.join(there) or NONE}"
            raise FairtrialError(f"{name} has no install script", where="--scripts", hint=hint)


def notes_on(names: Iterable[str]) -> tuple[str, ...]:
    """What a reader of the report should know."""
    listed = ", ".join(allowed(names))
    if not listed:
        return ()
    return (
        f"When it is installed, the install scripts of {listed} are run, by a user without rights: "
        "what they fetch or compile is in no lock.",
    )


# --- what a lock says ---------------------------------------------------------------------------


def packages_with_scripts(folder: Path) -> list[str]:
    names = [_name(place) for place, package in _packages(folder).items() if _has(package)]
    return list(dict.fromkeys(names))


def unrun_scripts(folder: Path) -> list[str]:
    """Packages that fetch or build something when npm installs them, which ours does not let them.

    With network they could do anything; a server may lack what they would have made.
    """
    packages, run = _packages(folder), _under("allowScripts", folder / "package.json")
    found = [place for place, package in packages.items() if _has(package)]
    # What a script of theirs would build is nothing that a server loads.
    known = (*run, *GRAMMARS.packages)
    unrun = [place for place in found if _name(place) not in known]
    return [f"{_name(place)} ({_instead(place, packages)})" for place in unrun]


def _packages(folder: Path) -> Mapping[str, Any]:
    return _under("packages", folder / "package-lock.json")


def _under(key: str, path: Path) -> Mapping[str, Any]:
    """Empty if there is no such file, or nothing under that key."""
    if not path.exists():
        return {}
    found: Mapping[str, Any] = load_json(path.read_text(encoding="utf-8")).get(key, {})
    return found


def _has(package: Mapping[str, Any]) -> bool:
    return bool(package.get("hasInstallScript"))


def _name(place: str) -> str:
    return place.rpartition("node_modules/")[2]


def _instead(place: str, packages: Mapping[str, Any]) -> str:
    """What a package may bring in place of what its script would build or fetch."""
    brought = packages[place].get("optionalDependencies") or {}
    here = [one for one in brought if f"node_modules/{one}" in packages]
    if here:
        return f"built beforehand in {', '.join(here[:2])}, which is installed"
    if brought:
        return "none of what it has built beforehand is for this platform"
    return "it brings nothing built beforehand"
