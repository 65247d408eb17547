"""What an installed package says of itself: version, licence, entry points, README."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal

from runner.authoring.onboarding.command_words import named_in
from runner.records import Python
from runner.sandbox.builder import BuilderSpec, open_builder
from runner.sandbox.cell_layout import PATH, SERVER_USER
from runner.sandbox.engine import Engine, engine_faults
from runner.servers.lock_checks import plain_name
from runner.support.errors import FairtrialError, SandboxError

_ENVIRONMENTS = {
    "npm": {"PATH": f"{{install}}/node_modules/.bin:{PATH}"},
    "pypi": {"PYTHONPATH": "{install}/python", "PATH": f"{{install}}/python/bin:{PATH}"},
}
"""As npx and uvx would set it: servers start their own tools by name."""


@dataclass(frozen=True, kw_only=True)
class InstalledPackage:
    """One package in a filled volume, or one that was written down from a folder."""

    name: str
    version: str
    licence: str = ""
    homepage: str = ""
    title: str = ""
    entries: Mapping[str, tuple[str, ...]]
    """Name -> the command that starts it."""
    spare: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Module -> the command that runs it, where none of the entries does: for want of one."""
    env: Mapping[str, str] = field(default_factory=dict)
    python: Python = "3.11"
    """What its packages are locked for."""
    readme: str = ""
    extras: tuple[str, ...] = ()
    """Names of optional parts, of a Python package."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """The last name of the module that a program is in -> the program, of a Python package."""

    @property
    def commands(self) -> dict[str, tuple[str, ...]]:
        """All that can be started, its entry points first."""
        spare = {
            # A package's module is often called as its script.
            f"{module}.__main__" if module in self.entries else module: words
            for module, words in self.spare.items()
        }
        return {**self.entries, **spare}

    @property
    def called(self) -> dict[str, str]:
        """What its own words may call its programs -> the program: by name, or by its file."""
        files = {
            words[-1].rpartition("/")[2]: name for name, words in self.entries.items() if words
        }
        modules = {f"{module}.py": name for module, name in self.modules.items()}
        return {**files, **modules, **{name: name for name in self.entries}}

    @property
    def server_extra(self) -> str:
        """The optional part without which it may be no server; empty if none is called so."""
        for extra in self.extras:
            if "mcp" in plain_name(extra).split("-"):
                return extra
        return ""


def look_into(
    engine: Engine, volume: str, image: str, kind: Literal["npm", "pypi"], name: str
) -> InstalledPackage:
    """Read the package's own files in the volume. Raises SandboxError."""
    source = resources.files(__package__).joinpath("probe.py.txt").read_text(encoding="utf-8")
    command = ["python3", "-I", "-c", source, kind, name]
    spec = BuilderSpec(image=image, command=command, user=SERVER_USER, volume=volume)
    failure = f"cannot read what {name} says of itself"
    with engine_faults(failure), open_builder(engine, spec) as builder:
        exit_code = builder.run()
        answer = builder.output(stderr=False)
        said = builder.output(last_lines=3)
    try:
        about = json.loads(answer)
        entries = {key: tuple(words) for key, words in about.pop("entries").items()}
        spare = {key: tuple(words) for key, words in about.pop("spare", {}).items()}
        extras = tuple(about.pop("extras", ()))
    except (ValueError, KeyError, AttributeError) as error:
        raise SandboxError(f"{failure} (exit {exit_code}): {said}", where=volume) from error
    return InstalledPackage(
        name=name, entries=entries, spare=spare, extras=extras, env=_ENVIRONMENTS[kind], **about
    )


def choose_entry(installed: InstalledPackage, asked: str) -> str:
    """The entry point's name. Raises SeveralEntries if nobody can tell which."""
    entries = installed.entries
    if asked:
        if asked in installed.commands:
            return asked
        there = ", ".join(entries) or "none"
        raise FairtrialError(f"there is no entry point {asked!r}", hint=f"there are: {there}")
    if not entries:
        raise FairtrialError(
            "the package brings nothing that can be started",
            where=installed.name,
            hint=f"it says of itself: {installed.title or 'nothing'}. Is it a library, or was it"
            " renamed? `fairtrial try -- COMMAND` starts anything",
        )
    fit = _fit(installed)
    if len(fit) != 1:
        raise SeveralEntries(tuple(entries))
    return fit[0]


def _fit(installed: InstalledPackage) -> list[str]:
    """The only one, the one about MCP, a client's by the README, a server, or the package's own.

    Then what its README lets serve.
    """
    # Two names of one file are one program.
    first: dict[tuple[str, ...], str] = {}
    for name, words in installed.entries.items():
        first.setdefault(words, name)
    entries = tuple(first.values())
    about = [one for one in entries if "mcp" in _words(one)]
    served = [one for one in entries if "server" in _words(one)]
    both = [one for one in about if one in served]
    configured = _configured(installed.readme, entries)
    short = plain_name(installed.name.rpartition("/")[2])
    same = [one for one in entries if plain_name(one) == short]
    serving = [one for one in entries if named_in(installed.readme, [one])]
    # Of two that differ in how they are spoken to.
    spoken = [one for one in entries if "stdio" in _words(one)]
    # A package that is also a command line names its server apart: `analyzer` and `analyzer-mcp`,
    # `packer` and `packer-server`.
    for found in (list(entries), spoken, about, both, configured, served, same, serving):
        if len(found) == 1:
            return found
    return _first_named(installed.readme, about)


def _first_named(readme: str, servers: Sequence[str]) -> list[str]:
    """Of several that are all about MCP, the one that its README names first; none if none is."""
    named = {one: readme.find(one) for one in servers if one in readme}
    return [min(named, key=lambda one: (named[one], -len(one)))] if named else []


def _configured(readme: str, entries: Sequence[str]) -> list[str]:
    """The only one that its README tells a client to start."""
    blocks = re.findall(r"\"command\"\s*:[^}]{0,600}", readme)
    words = {word for block in blocks for word in re.findall(r"\"([^\"\s]+)\"", block)}
    # "/path/to/venv/bin/NAME"
    words |= {word.rpartition("/")[2] for word in words if "/bin/" in word}
    named = [one for one in entries if one in words]
    return named if len(named) == 1 else []


def _words(name: str) -> list[str]:
    return plain_name(name).split("-")


class SeveralEntries(FairtrialError):  # noqa: N818 - a question, not a fault
    """Which of them is the server is for the person to say."""

    exit_code = 2

    def __init__(self, entries: tuple[str, ...]) -> None:
        self.entries = entries
        listed = ", ".join(entries)
        hint = f"say which with --entry: {listed}"
        super().__init__(f"it has {len(entries)} entry points: {listed}", hint=hint)
