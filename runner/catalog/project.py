"""Where things are: what ships, a user's own project laid over it, caches and runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from runner.records import canonical_json, load_json, parse_yaml, read_text
from runner.records.run_store import write_whole
from runner.records.versions import ProjectSettings
from runner.support.errors import AnchorsDrifted, Drift, FairtrialError, LockError
from runner.support.tree_digest import digest_of_file, digest_tree, file_changes

PROJECT_LOCK = "locks/project.lock"
"""SHA256 of every file under a project's scenarios/ and images/servers/. It marks the folder."""
TOPS = ("scenarios", "images/servers")
SETTINGS = "fairtrial.yaml"
"""What a project declares for `compare`: its margins, and what is meant. Locked as the rest is, or
a margin could be chosen by the result."""
_MOST_SETTINGS_BYTES = 64 * 1024
MANIFEST = "MANIFEST"
"""In an installed package: path -> SHA256 of every file that ships beside the code."""
TAKE = "look at the difference; `fairtrial lock` takes it, --ungated goes on without"


@dataclass(frozen=True, kw_only=True)
class ProjectPaths:
    """Where one call of the command reads and writes."""

    shipped: Path
    """Holds scenarios/, images/ and locks/ as they ship. Never written to unless it is `top`."""
    project: Path | None
    """A user's own folder, laid over what ships; None in a checkout and in any other folder."""
    state: Path
    """Caches, locks of this machine, logs."""
    top: Path
    """The folder that the command works in: runs/ lies there."""


def find_places(top: Path, caches: Path) -> ProjectPaths:
    """`top`: a checkout, a project, or any other folder, where what ships is all there is.

    `caches`: the user's cache folder. Raises FairtrialError if `top` is no folder.
    """
    state = state_of(top, caches)
    if is_checkout(top):
        return ProjectPaths(shipped=top, project=None, state=state, top=top)
    if not top.is_dir():
        raise FairtrialError("no such folder", where=str(top), hint="--root names a folder")
    project = top if (top / PROJECT_LOCK).is_file() else None
    return ProjectPaths(shipped=shipped(), project=project, state=state, top=top)


def state_of(top: Path, caches: Path) -> Path:
    """Anywhere but in a checkout it would litter a folder that is not ours."""
    return top / ".fairtrial" if is_checkout(top) else caches / "fairtrial"


def is_checkout(folder: Path) -> bool:
    """True if a folder brings a catalog of its own, and needs none laid under it."""
    if (folder / PROJECT_LOCK).exists():
        return False
    # A damaged checkout is one all the same, or it would go by what is installed.
    return (folder / "images/base").is_dir() or all((folder / top).is_dir() for top in TOPS)


def require_writable(places: ProjectPaths, *, in_project: bool) -> None:
    """Raises FairtrialError where a lock would be written over what ships."""
    is_own = places.shipped == places.top or (in_project and places.project is not None)
    if not is_own:
        where = "a checkout, or a project (`fairtrial init`)" if in_project else "a checkout"
        raise FairtrialError(
            "what ships is not locked from here",
            where=str(places.top),
            hint=f"run it in {where}, or name that with --root",
        )


def require_catalog_place(project: Path) -> None:
    """A folder that nothing reads would swallow the scenario."""
    if not is_checkout(project) and not (project / PROJECT_LOCK).is_file():
        hint = f"`fairtrial init {project}` makes it one; or name another, with --into or --root"
        raise FairtrialError("is no project", where=str(project), hint=hint)


# --- what ships ---------------------------------------------------------------------------------


def shipped() -> Path:
    """Of an installed package, beside its code; of an editable one, the checkout it lies in."""
    code = Path(str(resources.files("runner")))
    installed = code / "shipped"
    return installed if (installed / MANIFEST).is_file() else code.parent


def require_as_built(folder: Path) -> None:
    """Raises LockError if an installed file is not what MANIFEST says; a checkout has none."""
    if not (folder / MANIFEST).is_file():
        return
    expected = _digests((folder / MANIFEST).read_text(encoding="utf-8"), where=MANIFEST)
    if drifts := list(_changed(folder, expected)):
        raise LockError(
            f"{len(drifts)} of the installed files are not what was built, first {drifts[0]}",
            where=str(folder),
            hint="install fairtrial again; what is yours goes into a project, `fairtrial init DIR`",
        )


def _changed(folder: Path, expected: Mapping[str, str]) -> Iterator[Drift]:
    for name, digest in expected.items():
        path = folder / name
        if not path.is_file():
            yield Drift(where=name, what="is missing", expected=digest)
        elif (found := digest_of_file(path)) != digest:
            yield Drift(where=name, what="changed", expected=digest, found=found)


# --- a project's own lock -----------------------------------------------------------------------


def own_files(project: Path) -> tuple[dict[str, str], list[Drift]]:
    """Path from the project -> digest of its scenarios' and servers' files, as the gate's are."""
    files: dict[str, str] = {}
    drifts: list[Drift] = []
    for top in TOPS:
        if (project / top).exists():
            found, strange = digest_tree(project, top)
            files |= found
            drifts += strange
    if (project / SETTINGS).is_file():
        files[SETTINGS] = digest_of_file(project / SETTINGS)
    return files, drifts


def project_settings(project: Path | None) -> ProjectSettings:
    """The defaults where there is no such file.

    Raises AnchorsDrifted if it is not what the project's lock says, CatalogError if it is wrong.
    """
    if project is None or not (project / SETTINGS).is_file():
        return ProjectSettings()
    if drifts := [it for it in lock_changes(project) if it.where == SETTINGS]:
        raise AnchorsDrifted(drifts, hint=TAKE, lock=PROJECT_LOCK)
    text = read_text(project / SETTINGS, where=SETTINGS, limit_bytes=_MOST_SETTINGS_BYTES)
    return parse_yaml(text, ProjectSettings, where=SETTINGS)


def write_project_lock(project: Path) -> None:
    """Raises AnchorsDrifted if something there is no plain file."""
    files, strange = own_files(project)
    if strange:
        raise AnchorsDrifted(strange, hint="make it a plain file", lock=PROJECT_LOCK)
    path = project / PROJECT_LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lock_text(files))


def lock_text(entries: Mapping[str, object]) -> str:
    """A JSON object of a line for each key, sorted: two merged branches conflict in one line."""
    lines = [f"{canonical_json(key)}:{canonical_json(entries[key])}" for key in sorted(entries)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def lock_changes(project: Path) -> list[Drift]:
    """What is not as the project's lock has it; empty if all is. Raises LockError."""
    files, strange = own_files(project)
    locked = _digests((project / PROJECT_LOCK).read_text(encoding="utf-8"), where=PROJECT_LOCK)
    return [*strange, *file_changes(locked, files)]


def require_locked(project: Path, folders: Collection[Path]) -> None:
    """Raises AnchorsDrifted with what drifted in those folders of the project."""
    inside = [folder.relative_to(project).as_posix() + "/" for folder in folders]
    drifts = [it for it in lock_changes(project) if it.where.startswith(tuple(inside))]
    if drifts:
        raise AnchorsDrifted(drifts, hint=TAKE, lock=PROJECT_LOCK)


def _digests(text: str, *, where: str) -> dict[str, str]:
    try:
        data = load_json(text)
    except ValueError as error:
        raise LockError(f"cannot be read: {error}", where=where, hint="take it from git") from error
    if not isinstance(data, dict) or not all(isinstance(it, str) for it in data.values()):
        raise LockError("is no object of paths and digests", where=where, hint="take it from git")
    return data


# --- a new one ------------------------------------------------------------------------------------


def init(folder: Path) -> Iterator[str]:
    """Make a folder a project; a line for each file, written or left alone.

    Raises FairtrialError if it is a checkout or a project already.
    """
    if is_checkout(folder):
        hint = "name another folder; a project is laid over what ships"
        raise FairtrialError("is a checkout of fairtrial", where=str(folder), hint=hint)
    if (folder / PROJECT_LOCK).exists():
        hint = "`fairtrial lock` writes its locks anew"
        raise FairtrialError("is a project already", where=str(folder), hint=hint)
    template = Path(__file__).with_name("template")
    for source in sorted(path for path in template.rglob("*") if path.is_file()):
        name = source.relative_to(template).as_posix().replace("gitignore", ".gitignore")
        yield _copied(source, folder / name, name)
    write_project_lock(folder)
    yield f"wrote {PROJECT_LOCK}"


def _copied(source: Path, target: Path, name: str) -> str:
    # A user's own justfile or .gitignore says more than ours.
    if target.exists():
        return f"left {name} as it is"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())
    return f"wrote {name}"
