"""A repository with one commit becomes the image that every cell of a scenario starts from.

The image is checked before it is used: asked as the agent, it must hold the commit and nothing
else, no later history above all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from runner.records import digest_of
from runner.repositories import worktree
from runner.repositories.repository import Repository
from runner.repositories.worktree import write_worktree
from runner.sandbox.builder import BuilderSpec, open_builder
from runner.sandbox.cell_layout import AGENT_USER
from runner.sandbox.engine import Engine, engine_faults, remove_image
from runner.sandbox.image_names import ImageRecipe, ensure_image
from runner.support.code_digest import code_digest
from runner.support.errors import LockError, SandboxError

_SELF_TEST = r"""
cd /workspace || { echo damaged=all; exit; }
objects() { git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)'; }
echo commit="$(git rev-parse HEAD)"
echo tree="$(git rev-parse 'HEAD^{tree}')"
echo branch="$(git symbolic-ref --short HEAD)"
echo refs="$(git for-each-ref --format='%(refname)' | paste -sd' ')"
echo commits="$(objects | grep -c '^commit ')"
echo tags="$(objects | grep -c '^tag ')"
echo reachable="$(git rev-list --all --count)"
reached() { git rev-list --objects HEAD | cut -c1-40; }
echo unreachable="$({ objects | cut -d' ' -f2; reached; } | sort | uniq -u | wc -l)"
echo loose="$(git count-objects)" | sed 's/ .*//'
echo remotes="$(git remote | wc -l)"
echo reflogs="$(find .git -path '*logs*' | wc -l)"
echo git="$(LC_ALL=C ls -A .git | paste -sd' ')"
echo changes="$(git status --porcelain --ignored | wc -l)"
echo files="$(git ls-files -s | grep -vc '^160000')"
echo writable="$(find . ! -type l -writable | wc -l)"
echo foreign="$(find . ! -user root | wc -l)"
echo setuid="$(find . -perm /7000 | wc -l)"
echo beside="$(find /opt/environment ! -type l -writable 2>/dev/null | wc -l)"
git verify-pack .git/objects/pack/*.idx; echo damaged=$?
"""
_MUST_BE_ZERO = (
    "tags",
    "remotes",
    "reflogs",
    "unreachable",
    "loose",
    "changes",
    "writable",
    "foreign",
    "setuid",
    "beside",
    "damaged",
)
_TRIES = 3


@dataclass(frozen=True, kw_only=True)
class WorkspaceImage:
    """The image with /workspace at its commit, checked."""

    id: str
    """sha256:…, as the engine names it."""
    commit: str
    tree: str


@dataclass(frozen=True, kw_only=True)
class Layer:
    """What is laid into the image beside the repository."""

    name: str
    """Names what goes in."""
    write: Callable[[IO[bytes]], None]
    """Writes it as a tar of paths from the root."""


def ensure_workspace(  # noqa: PLR0913 - what goes into an image, and where it is remembered
    engine: Engine,
    repository: Repository,
    base_image_id: str,
    *,
    state_dir: Path,
    layer: Layer | None = None,
    log: Callable[[str], None] = lambda _: None,
) -> WorkspaceImage:
    """The image with /workspace on the base, built (a few seconds) and checked if it is missing.

    Raises LockError if the image or the tree in it is not the one it should be, SandboxError if
    the engine cannot build it.
    """
    recipe = _recipe(repository, base_image_id, layer)

    def build() -> str:
        log(f"building the workspace of {repository.path.stem} ({repository.files:,} files)")
        return _build(engine, repository, base_image_id, recipe, layer)

    def check(image: str) -> None:
        _check_contents(engine, image, repository)

    with engine_faults(
        "the workspace image cannot be built",
        where=recipe.name,
        hint="is the engine's disk full?",
    ):
        image_id = ensure_image(engine, state_dir, recipe, build=build, check=check)
    return WorkspaceImage(id=image_id, commit=repository.commit, tree=repository.tree)


def _recipe(repository: Repository, base_image_id: str, layer: Layer | None) -> ImageRecipe:
    """Names what goes in, and the code that writes and checks it; how it was fetched is no part."""
    code = code_digest([Path(__file__), Path(worktree.__file__)])
    inputs = [repository.commit, base_image_id, code]
    if layer is not None:
        inputs.append(layer.name)
    return ImageRecipe(kind="workspace", digest=digest_of(inputs))


def _build(
    engine: Engine,
    repository: Repository,
    base_image_id: str,
    recipe: ImageRecipe,
    layer: Layer | None,
) -> str:
    """Uploads and one commit; `docker build` would send, unpack and copy the tree thrice."""
    writers: list[Callable[[IO[bytes]], None]] = [partial(write_worktree, repository)]
    if layer is not None:
        writers.append(layer.write)
    with open_builder(engine, BuilderSpec(image=base_image_id)) as builder:
        for write in writers:
            with tempfile.TemporaryFile() as file:
                write(file)
                file.seek(0)
                builder.put(file)
        return builder.commit(recipe.labels)


# --- the image tells what it holds ---------------------------------------------------------------


def _check_contents(engine: Engine, image: str, repository: Repository) -> None:
    """Asks the image itself, as the agent and without network, what it holds.

    Raises LockError if that is not the commit alone, and drops the image, so that the next try
    builds it again.
    """
    found = _self_test(engine, image)
    differences = []
    for key, expected in _expected(repository).items():
        if found.get(key) != expected:
            differences.append(f"{key} is {found.get(key)!r}, not {expected!r}")
    if differences:
        remove_image(engine, image)
        raise LockError(
            f"the workspace image is not what it should be: {'; '.join(differences)}",
            where=image,
            hint="build it again",
        )


def _self_test(engine: Engine, image: str) -> dict[str, str]:
    """Raises SandboxError if it is cut short each time it is asked."""
    for _ in range(_TRIES):
        found = _told_by(engine, image)
        # Its last line: an engine that drops what was printed would have a sound image removed.
        if "damaged" in found:
            return found
    raise SandboxError("the engine cut the check of a workspace image short", where=image)


def _told_by(engine: Engine, image: str) -> dict[str, str]:
    spec = BuilderSpec(
        image=image,
        command=["/bin/sh", "-c", _SELF_TEST],
        user=AGENT_USER,
        environment={"HOME": "/nonexistent"},
    )
    with open_builder(engine, spec) as builder:
        builder.run()
        lines = builder.output().splitlines()
    return dict(line.partition("=")[::2] for line in lines)


def _expected(repository: Repository) -> dict[str, str]:
    git_folder = "HEAD config index objects refs"
    if (repository.path / "shallow").exists():
        git_folder += " shallow"
    return {
        "commit": repository.commit,
        "tree": repository.tree,
        "branch": "main",
        "refs": "refs/heads/main",
        "commits": "1",
        "reachable": "1",
        "git": git_folder,
        "files": str(repository.files),
        **dict.fromkeys(_MUST_BE_ZERO, "0"),
    }
