"""The files of one commit, read from a local git repository; and how a written path resolves among them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import git

from runner.errors import SourceError
from runner.records import Resolution

SANDBOX_ROOT = "/workspace"
_SYMLINK, _SUBMODULE = "120000", "160000"


class GitFiles:
    """One commit of a local repository (bare or not): one `ls-tree`, one held `cat-file --batch`.

    Submodules hold no lines and are left out; a symlink stands for the file of the commit it points to, or is left out.
    Raises SourceError where there is no repository or no such commit.
    """

    def __init__(self, repo_path: str | Path, commit: str) -> None:
        self._git, self.commit = _open(Path(repo_path), commit)
        self._blobs = _list_blobs(self._git, self.commit)

    def paths(self) -> frozenset[str]:
        """Every file at the commit."""
        return frozenset(self._blobs)

    def read(self, path: str) -> bytes:
        """A file's bytes at the commit. Raises KeyError where there is no such file, SourceError where its blob is absent."""
        sha = self._blobs[path]
        try:
            data = self._git.get_object_data(sha)[3]
        except (ValueError, OSError) as error:
            hint = "fetch the repository again without a filter (a partial clone leaves blobs out)"
            raise SourceError(
                f"blob {sha[:12]} is not in the repository", where=path, hint=hint
            ) from error
        return bytes(data)

    def blob_sha(self, path: str) -> str:
        """The blob's SHA. Raises KeyError where there is no such file."""
        return self._blobs[path]

    def close(self) -> None:
        """End the held git process."""
        self._git.clear_cache()

    def __enter__(self) -> GitFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(repo_path: Path, commit: str) -> tuple[git.Git, str]:
    try:
        repo = git.Repo(repo_path)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError) as error:
        hint = "give the path of a clone, or a URL that git can clone"
        raise SourceError("not a git repository", where=str(repo_path), hint=hint) from error
    # Without these a partial clone would reach for its remote, or ask for a password, in the middle of a verification.
    command = git.Git(repo.git_dir)
    command.update_environment(
        GIT_DIR=str(repo.git_dir), GIT_NO_LAZY_FETCH="1", GIT_TERMINAL_PROMPT="0"
    )
    try:
        full = command.rev_parse("--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except git.GitCommandError as error:
        hint = "give a full commit SHA that the repository holds; `git fetch origin <sha>` may bring it"
        raise SourceError(f"no commit {commit!r} here", where=str(repo_path), hint=hint) from error
    return command, full.splitlines()[-1]


def _list_blobs(command: git.Git, commit: str) -> dict[str, str]:
    raw = command.ls_tree(
        "-r", "-z", "--full-tree", commit, stdout_as_string=False, strip_newline_in_stdout=False
    )
    blobs, links = {}, {}
    for entry in bytes(raw).split(b"\0"):
        if not entry:
            continue
        head, _, name = entry.partition(b"\t")
        mode, _, sha = head.decode().split(" ")
        path = name.decode("utf-8", "surrogateescape")
        if mode == _SYMLINK:
            links[path] = sha
        elif mode != _SUBMODULE:
            blobs[path] = sha
    for path, sha in links.items():
        target = bytes(command.get_object_data(sha)[3]).decode("utf-8", "surrogateescape")
        followed = blobs.get(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)))
        if followed is not None:
            blobs[path] = followed
    return blobs


_REMOTE = re.compile(r"(?:https?|ssh|git)://|[\w.-]+@[\w.-]+:")
"""A path of this machine says nothing about the web addresses of the repository."""


class Resolved(NamedTuple):
    resolution: Resolution
    path: str
    """The file, or where there is not exactly one, the path as normalised."""


class PathIndex:
    """Resolves paths as written against the files of a commit."""

    def __init__(
        self,
        paths: Iterable[str],
        *,
        roots: Sequence[str] = (),
        commit: str = "",
        repo_urls: Sequence[str] = (),
    ) -> None:
        self.paths = frozenset(paths)
        self.by_name: dict[str, list[str]] = {}
        for path in self.paths:
            self.by_name.setdefault(path.rpartition("/")[2], []).append(path)
        self.stems = frozenset(name.partition(".")[0] for name in self.by_name)
        self.bare_names = frozenset(name for name in self.by_name if "." not in name)
        self.spaced: dict[str, list[str]] = {}
        for path in sorted(self.paths, key=len, reverse=True):
            for tail in {path, path.rpartition("/")[2]} if " " in path else ():
                self.spaced.setdefault(tail.rpartition(" ")[2], []).append(tail)
        self._roots = tuple(
            root.replace("\\", "/").rstrip("/")
            for root in (SANDBOX_ROOT, *roots)
            if root.strip("/\\")
        )
        self.extensions = frozenset(
            name.rpartition(".")[2] for name in self.by_name if "." in name[1:]
        )
        self._repositories = tuple(_plain_url(url) for url in repo_urls if _REMOTE.match(url))
        self._commit = commit
        self._seen: dict[str, Resolved] = {}

    def resolve(self, written: str) -> Resolved:
        """How a written path resolves: exact, a tail of exactly one file (on a `/` boundary), of several, or of none."""
        if written not in self._seen:
            self._seen[written] = self._resolve(written)
        return self._seen[written]

    def _resolve(self, written: str) -> Resolved:
        path = self.normalise(written)
        for name in dict.fromkeys((path, unquote(path))):
            if name in self.paths:
                return Resolved("exact", name)
            if name.startswith(
                "/"
            ):  # an absolute path outside every root is no tail of anything here; a link's leading slash is the root
                if name[1:] in self.paths:
                    return Resolved("exact", name[1:])
                continue
            tail = "/" + name
            found = [
                full
                for full in self.by_name.get(name.rpartition("/")[2], ())
                if full.endswith(tail)
            ]
            if found:
                return (
                    Resolved("suffix", found[0]) if len(found) == 1 else Resolved("ambiguous", name)
                )
        return Resolved("missing", unquote(path))

    def count_ending_in(self, path: str) -> int:
        """Files of which a path is a tail."""
        return sum(
            full.endswith("/" + path) for full in self.by_name.get(path.rpartition("/")[2], ())
        )

    def normalise(self, written: str) -> str:
        """`/` as separator, no sandbox root, no `./`; case and everything else as written."""
        path = written
        if "\\" in path and path not in self.paths:
            path = path.replace("\\", "/")
        for root in self._roots:
            if path.startswith(root + "/"):
                path = path[len(root) + 1 :]
                break
        while path.startswith(("./", ".../", "…/")):
            path = path.partition("/")[2]
        if "//" in path or "/./" in path or "/../" in path:
            path = posixpath.normpath(path)
        return path

    def blob(self, repository: str, rest: str) -> tuple[str, str] | None:
        """Ref and path of a blob URL's tail where it points into this repository; None for somebody else's.

        A ref may hold slashes: the split whose path is a file of the tree wins. A link to the commit's SHA is ours, whatever fork or mirror
        it goes through. Any other is ours by its URL or, where no URL of the repository is known, by its path.
        """
        ref, _, path = rest.partition("/")
        parts = rest.split("/")
        for cut in range(1, min(len(parts), 8)):
            if "/".join(parts[cut:]) in self.paths:
                ref, path = "/".join(parts[:cut]), "/".join(parts[cut:])
                break
        ours = (
            _plain_url(repository) in self._repositories
            if self._repositories
            else path in self.paths
        )
        return (ref, path) if ours or self.is_commit(ref) else None

    def is_commit(self, ref: str) -> bool:
        """True where a ref is the commit, in full or abbreviated."""
        return len(ref) >= 7 and self._commit.startswith(ref.lower())


def _plain_url(url: str) -> str:
    """`host/owner/name`, however the URL is spelt."""
    plain = url.lower().removesuffix("/").removesuffix(".git").rpartition("@")[2]
    return (
        plain.partition("://")[2].rpartition("@")[2]
        if "://" in plain
        else plain.replace(":", "/", 1)
    )
