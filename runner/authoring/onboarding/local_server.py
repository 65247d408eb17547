"""A server that is on this machine: its text files are written down, its packages are locked."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.authoring.onboarding.installed import InstalledPackage
from runner.sandbox.cell_layout import PATH
from runner.servers.lock_checks import LOCAL
from runner.support.errors import FairtrialError

MOST_BYTES = 480 * 1024
"""Of all files together: they are kept in server.yaml, of which half a megabyte is read."""
_ASIDE = {"node_modules", "__pycache__", "venv", "tests", "test", "docs", "coverage", "examples"}
_INTERPRETERS = {".py": "python3", ".js": "node", ".mjs": "node", ".cjs": "node", ".sh": "sh"}


@dataclass(frozen=True, kw_only=True)
class Copied:
    installed: InstalledPackage
    files: Mapping[str, str]
    requirements: str = ""
    """For uv; empty for none."""
    requires_python: str = ""
    """As its pyproject.toml says, such as `>=3.12`."""
    dependencies: Mapping[str, str] = field(default_factory=dict)
    """npm's."""


def copied_command(words: Sequence[str], name: str) -> tuple[InstalledPackage, dict[str, str]]:
    """The files that a command names, and the command with their places in the volume.

    Raises FairtrialError if it names none: nothing of it would be in the sandbox.
    """
    files: dict[str, str] = {}
    placed = []
    for word in words:
        path = Path(word)
        is_system = path.parts[:2] in (("/", "usr"), ("/", "bin"))
        if path.is_file() and not (path == Path(words[0]) and is_system):
            files[path.name] = _text_of(path)
            placed.append(f"{{install}}/{path.name}")
        else:
            placed.append(word)
    if not files:
        hint = "name a file of your own in it, or try a package: npm:NAME, pypi:NAME"
        raise FairtrialError("the command names no file of yours", where=words[0], hint=hint)
    installed = InstalledPackage(
        name=name,
        version=LOCAL,
        title=f"{name}, from this machine",
        entries={name: tuple(placed)},
        env={"PATH": PATH},
    )
    return installed, files


def copied_folder(path: Path) -> Copied:
    """Raises FairtrialError if there is neither a package.json nor a pyproject.toml."""
    if path.is_file():
        return _one_file(path)
    if (path / "package.json").is_file():
        return _node_folder(path)
    if (path / "pyproject.toml").is_file():
        return _python_folder(path)
    hint = "it needs a package.json or a pyproject.toml; or `fairtrial try -- COMMAND`"
    raise FairtrialError("nothing here says how it is started", where=path.name, hint=hint)


def _one_file(path: Path) -> Copied:
    words = [path.name]
    if not os.access(path, os.X_OK):
        program = _INTERPRETERS.get(path.suffix)
        if program is None:
            hint = "make it executable, or name its interpreter: fairtrial try -- INTERPRETER FILE"
            raise FairtrialError("nothing says how it is run", where=path.name, hint=hint)
        words = [program, path.name]
    entry = (*words[:-1], f"{{install}}/{path.name}")
    text = _text_of(path)
    installed = InstalledPackage(
        name=path.stem, version=LOCAL, entries={path.stem: entry}, env={"PATH": PATH}
    )
    return Copied(installed=installed, files={path.name: text}, requirements=_inline_needs(text))


def _inline_needs(text: str) -> str:
    """The dependencies of a script with a `# /// script` block."""
    lines = text.splitlines()
    if "# /// script" not in lines:
        return ""
    block = lines[lines.index("# /// script") + 1 :]
    block = block[: block.index("# ///")] if "# ///" in block else []
    table = tomllib.loads("\n".join(line.removeprefix("#").strip() for line in block))
    return "".join(f"{need}\n" for need in table.get("dependencies", []))


def _node_folder(path: Path) -> Copied:
    about: dict[str, Any] = json.loads(_text_of(path / "package.json"))
    name = str(about.get("name") or path.name)
    bins = about.get("bin") or {}
    if isinstance(bins, str):
        bins = {name.rpartition("/")[2]: bins}
    if not bins and about.get("main"):
        bins = {name.rpartition("/")[2]: about["main"]}
    entries = {key: ("node", f"{{install}}/app/{Path(file)}") for key, file in bins.items()}
    for file in bins.values():
        if not (path / file).is_file():
            hint = "build it, then try again"
            raise FairtrialError("it is not built", where=str(file), hint=hint)
    env = {"PATH": f"{{install}}/node_modules/.bin:{PATH}"}
    installed = _installed(path, about, name, entries, env)
    needs = {str(key): str(value) for key, value in (about.get("dependencies") or {}).items()}
    return Copied(installed=installed, files=_files(path, "app"), dependencies=needs)


def _python_folder(path: Path) -> Copied:
    table = tomllib.loads(_text_of(path / "pyproject.toml"))
    about = table.get("project", {})
    name = str(about.get("name") or path.name)
    source = "src" if (path / "src").is_dir() else "."
    entries = {key: _calling(value) for key, value in about.get("scripts", {}).items()}
    inside = "{install}/app" if source == "." else "{install}/app/src"
    env = {"PYTHONPATH": f"{inside}:{{install}}/python", "PATH": f"{{install}}/python/bin:{PATH}"}
    installed = _installed(path, about, name, entries, env)
    needs = "".join(f"{need}\n" for need in about.get("dependencies", []))
    return Copied(
        installed=installed,
        files=_files(path, "app"),
        requirements=needs,
        requires_python=str(about.get("requires-python") or ""),
    )


def _installed(
    path: Path,
    about: Mapping[str, Any],
    name: str,
    entries: Mapping[str, tuple[str, ...]],
    env: Mapping[str, str],
) -> InstalledPackage:
    """As package.json and pyproject.toml say it, which use the same words for it."""
    return InstalledPackage(
        name=name,
        version="+".join(filter(None, (str(about.get("version") or ""), LOCAL))),
        licence=str(about.get("license") or ""),
        title=str(about.get("description") or ""),
        entries=dict(entries),
        env=dict(env),
        readme=_readme(path),
    )


def _calling(target: str) -> tuple[str, ...]:
    """`package.module:main`, as pip's own script would call it."""
    module, _, function = target.partition(":")
    script = f"import sys; from {module} import {function} as main; sys.exit(main())"
    return ("python3", "-c", script)


def _readme(path: Path) -> str:
    for file in sorted(path.iterdir()):
        if file.name.lower().startswith("readme") and file.is_file():
            return file.read_text(encoding="utf-8", errors="replace")[:60_000]
    return ""


def _files(path: Path, place: str) -> dict[str, str]:
    """Every text file below, by its path in the volume. Raises FairtrialError past the limit."""
    files: dict[str, str] = {}
    size_bytes = 0
    for file in files_below(path, _ASIDE):
        data = file.read_bytes()
        # A lock names addresses, and is made anew here.
        if b"\0" in data[:8000] or file.name == "package-lock.json":
            continue
        size_bytes += len(data)
        if size_bytes > MOST_BYTES:
            hint = "publish it, or try its built file alone: fairtrial try -- node dist/index.js"
            what = f"its files have more than {MOST_BYTES // 1024} KB"
            raise FairtrialError(what, where=path.name, hint=hint)
        files[f"{place}/{file.relative_to(path)}"] = data.decode("utf-8", "replace")
    return files


def files_below(path: Path, aside: Collection[str]) -> Iterator[Path]:
    """In order, without what is hidden, and without the folders that are called as `aside`."""
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(it for it in folders if it not in aside and not it.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        hint = "only text can be copied into the sandbox; name its package instead"
        raise FairtrialError("it is no text", where=path.name, hint=hint) from error
