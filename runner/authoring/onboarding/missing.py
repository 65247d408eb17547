"""A package that a server needs and does not name: taken from the words with which it ends."""

from __future__ import annotations

import re
from dataclasses import replace

from runner.authoring.onboarding.server_source import NpmPackage, PypiPackage
from runner.servers.lock_checks import plain_name

_PYTHON_MODULE = re.compile(r"No module named '?(\w+)'?(?![\w.'])")
_PYTHON_TOLD = re.compile(
    r"\b(?:uv (?:pip install|add)|pip3? install|poetry add)(?: (?:-U|--upgrade))?\s+[\"'`]?"
    r"(?P<name>[A-Za-z0-9][\w.-]*\w)(?:\[(?P<extras>[\w,.-]+)\])?"
)
_PYTHON_PINNED = re.compile(r"\bpin [\"'`](?P<need>[A-Za-z0-9][\w.-]*(?:[<=~!]=?[\d.]+,?)+)[\"'`]")
SDK_LACKS = r"'(?:Server|FastMCP)' object has no attribute"
_OLDER_SDK = re.compile(
    r"(?:cannot import name .*from|No module named) '(?:mcp|fastmcp)\.[\w.]+'"
    rf"|{SDK_LACKS}|\b(?:Server|FastMCP)\.\w+\(\) got an unexpected keyword"
    r"|object has no attribute '(?:inputSchema|isError|structuredContent|mimeType|serverInfo)'"
)
"""What is asked of the protocol's own library and is gone from its second version."""
IS_REQUIRED = r"(?:package|library|module|SDK) is (?:required|not installed|missing|needed)"
"""Its own words for an import that failed."""
_PYTHON_REQUIRED = re.compile(rf"\b[Tt]he ['`\"]?(?P<name>[a-z][\w-]*)['`\"]? {IS_REQUIRED}")
_NODE_MODULE = re.compile(r"Cannot find (?:module|package) '(@[\w.-]+/[\w.-]+|[A-Za-z][\w.-]*)")
_NODE_TOLD = re.compile(r"\bnpm (?:i|install|add)(?: -g| --save)? (@[\w.-]+/[\w.-]+|[a-z][\w.-]*)")
_OTHER_NAMES = {
    "bs4": "beautifulsoup4", "cv2": "opencv-python-headless", "dateutil": "python-dateutil",
    "dotenv": "python-dotenv", "git": "gitpython", "github": "pygithub", "jwt": "pyjwt",
    "magic": "python-magic", "PIL": "pillow", "pkg_resources": "setuptools<81",
    "sklearn": "scikit-learn", "yaml": "pyyaml",
}  # fmt: skip
"""Modules whose usual distribution is called otherwise."""
_ANYBODYS = frozenset(
    "app api cli common config core data helpers lib main models module modules package server "
    "servers scripts settings src test tests tools types util utils version".split()
)
"""What packages call their own parts: in a registry, a stranger has the name."""

Added = tuple[NpmPackage | PypiPackage, str] | None
"""The same with one package more, and that package in words; None if none is named."""


def with_missing(asked: NpmPackage | PypiPackage, problem: str) -> Added:
    if isinstance(asked, NpmPackage):
        found = _NODE_TOLD.search(problem) or _NODE_MODULE.search(problem)
        return None if found is None or found[1] in _ANYBODYS else _added(asked, found[1])
    if pinned := _PYTHON_PINNED.search(problem):
        # Nearer to what it was made with than every package of that day.
        return _added(asked, pinned["need"])
    if _OLDER_SDK.search(problem):
        return _added(asked, "mcp<2")
    told = _PYTHON_TOLD.search(problem)
    if told is None and (required := _PYTHON_REQUIRED.search(problem)):
        name = required["name"]
        # Its own words for what its import says: of `mcp` nearly always that it is too new.
        return _added(asked, "mcp<2" if name == "mcp" else _OTHER_NAMES.get(name, name))
    return _told(asked, told) if told else _lacked(asked, problem)


def tells_to_install(text: str) -> bool:
    """Does it name a package of PyPI's or npm's, with the command that installs it?"""
    return bool(_PYTHON_TOLD.search(text) or _NODE_TOLD.search(text))


def _told(asked: PypiPackage, told: re.Match[str]) -> Added:
    if _plain(told["name"]) == _plain(asked.name):
        if told["extras"] and not asked.extras:
            return replace(asked, extras=told["extras"]), f"{asked.name}[{told['extras']}]"
        # With its extra it says so still: what that brings is not what it was written for.
        is_of_sdk = re.search(r"\bmcp\b", told.string, re.IGNORECASE)
        return _added(asked, "mcp<2") if is_of_sdk else None
    extras = f"[{told['extras']}]" if told["extras"] else ""
    if _plain(told["name"]) == "mcp":
        # Nearly always it is there, and what is imported of it is gone since its second version.
        return _added(asked, f"mcp{extras}<2")
    return _added(asked, f"{told['name']}{extras}")


def _lacked(asked: PypiPackage, problem: str) -> Added:
    found = _PYTHON_MODULE.search(problem)
    if found is None or found[1] in _ANYBODYS or found[1].startswith("_"):
        return None
    return _added(asked, _OTHER_NAMES.get(found[1], found[1].replace("_", "-")))


def _added(asked: NpmPackage | PypiPackage, name: str) -> Added:
    known = [one for one in asked.also if _plain(one) == _plain(name)]
    is_new = not known or (name not in known and name != _plain(name))
    if not is_new or _plain(name) == _plain(asked.name):
        return None
    others = tuple(one for one in asked.also if one not in known)
    return replace(asked, also=(*others, name)), name


def _plain(name: str) -> str:
    """Without extras and versions."""
    name = re.split(r"(?<=.)[\[<>=~!@]", name)[0]
    return plain_name(name)
