"""The files of one commit in a local git repository, and how a written path resolves among them."""

from __future__ import annotations

import bisect
import posixpath
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from runner.grounding.word_lists import FOREIGN_PARTS
from runner.records import Resolution
from runner.repositories.repository import (
    git_at,
    object_folder,
    read_blob,
    read_blobs,
    run_git,
    tree_entries,
)
from runner.support.errors import SourceError

SANDBOX_ROOT = "/workspace"
_SYMLINK, _SUBMODULE = "120000", "160000"
_MOST_LINKED = 10_000
"""Files that a link to a folder stands for: folders may link to each other."""


class GitFiles:
    """One commit of a local repository (bare or not): one `ls-tree`, one held `cat-file --batch`.

    Submodules hold no lines and are left out; a symlink stands for the file or folder of the commit
    it points to, or is left out. Raises SourceError if there is no repository or no such commit.
    """

    def __init__(self, repo_path: str | Path, commit: str) -> None:
        folder = object_folder(Path(repo_path))
        self._git = git_at(folder)
        self.commit = self._full_sha(commit, where=str(repo_path))
        self._blobs: dict[str, str] = {}
        self._list_blobs(folder)

    def paths(self) -> frozenset[str]:
        """Every file at the commit."""
        return frozenset(self._blobs)

    def read(self, path: str) -> bytes:
        """A file's bytes at the commit.

        Raises KeyError if there is no such file, SourceError if its blob is absent.
        """
        return self._blob(self._blobs[path], path)

    def blob_sha(self, path: str) -> str:
        """The blob's SHA. Raises KeyError if there is no such file."""
        return self._blobs[path]

    def read_many(self, paths: Sequence[str]) -> Iterator[bytes]:
        """The bytes of many files, in order, several times as fast as one by one.

        Raises SourceError if a blob is absent or damaged.
        """
        try:
            yield from read_blobs(self._git, [self._blobs[path] for path in paths])
        except (KeyError, ValueError) as error:
            hint = "fetch the repository again without a filter"
            raise SourceError(f"blob {error} is absent or damaged", hint=hint) from error

    def close(self) -> None:
        """End the held git process."""
        self._git.clear_cache()

    def __enter__(self) -> GitFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _full_sha(self, commit: str, *, where: str) -> str:
        # Without --end-of-options a commit called `--help` would be an option of git's.
        options = ("--verify", "--quiet", "--end-of-options")
        try:
            output = run_git(self._git, "rev-parse", *options, f"{commit}^{{commit}}")
        except SourceError as error:
            hint = (
                "give a full commit SHA that the repository holds; "
                "`git fetch origin <sha>` may bring it"
            )
            raise SourceError(f"no commit {commit!r} here", where=where, hint=hint) from error
        return output.splitlines()[-1]

    def _list_blobs(self, folder: Path) -> None:
        links: dict[str, str] = {}
        for entry in tree_entries(folder, self.commit):
            if entry.mode == _SYMLINK:
                links[entry.path] = entry.sha
            elif entry.mode != _SUBMODULE:
                self._blobs[entry.path] = entry.sha
        for path, sha in links.items():
            self._follow(path, sha)

    def _follow(self, path: str, sha: str) -> None:
        """Let a symlink stand for the file that it points to."""
        target = self._blob(sha, path).decode("utf-8", "surrogateescape")
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if linked in self._blobs:
            self._blobs[path] = self._blobs[linked]
        elif below := [one for one in self._blobs if one.startswith(f"{linked}/")][:_MOST_LINKED]:
            self._blobs |= {path + one[len(linked) :]: self._blobs[one] for one in below}

    def _blob(self, sha: str, path: str) -> bytes:
        try:
            return read_blob(self._git, sha)
        except KeyError as error:
            hint = "fetch the repository again without a filter (a partial clone leaves blobs out)"
            what = f"blob {sha[:12]} is not in the repository"
            raise SourceError(what, where=path, hint=hint) from error
        except ValueError as error:
            hint = "clone the repository again; `git fsck` lists what else is damaged"
            what = f"blob {sha[:12]} is damaged: its content is not what its name says"
            raise SourceError(what, where=path, hint=hint) from error


# --- paths as written -----------------------------------------------------------------------

_REMOTE = re.compile(r"(?:https?|ssh|git)://|[\w.-]+@[\w.-]+:")
"""A path of this machine says nothing about the web addresses of the repository."""
_HOMES = ("/Users/", "/home/", "/root/", "/repo/", "/code/")
"""Where people and machines keep checkouts."""
_LONGEST_REF = 7
"""Segments of a branch's name in a URL (`feature/x` has two): bounds the splits that are tried."""


_LINKED = re.compile(r"(?:\.\./)+|/?(?:-/)?(?:blob|blame|raw|tree)/[^/]+/")
"""Before a path, in a link from somewhere else in the repository: `../`, `blob/main/`."""


class Resolved(NamedTuple):
    resolution: Resolution
    path: str
    """The file or, if there is not exactly one, the path as normalised."""


class BlobPlace(NamedTuple):
    """What a blob URL shows."""

    ref: str
    path: str


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
        self._roots = tuple(map(_plain_root, (SANDBOX_ROOT, *roots)))
        self._repositories = tuple(map(_plain_url, filter(_REMOTE.match, repo_urls)))
        self._commit = commit
        self._resolved: dict[str, Resolved] = {}

    def holds(self, written: str) -> bool:
        """Is this one of the files, as far as anybody can tell?"""
        return self.resolve(written).path in self.paths

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """`app.py` -> every path that ends in it."""
        paths: dict[str, list[str]] = {}
        for path in self.paths:
            paths.setdefault(_name(path), []).append(path)
        return paths

    @cached_property
    def _composed(self) -> dict[str, str]:
        """Paths with letters whose accents may be written apart (`é` as two characters)."""
        return {_nfc(path): path for path in self.paths if not path.isascii()}

    @cached_property
    def stems(self) -> frozenset[str]:
        """`app` of `src/app.py`."""
        return frozenset(name.partition(".")[0] for name in self.by_name)

    @cached_property
    def by_stem(self) -> dict[str, list[str]]:
        """`GsonBuilder` -> every path whose name is that and an extension."""
        paths: dict[str, list[str]] = {}
        for path in self.paths:
            stem, dot, _ = _name(path).partition(".")
            if dot:
                paths.setdefault(stem, []).append(path)
        return paths

    @cached_property
    def bare_names(self) -> frozenset[str]:
        """`tool` of `bin/tool`."""
        return frozenset(name for name in self.by_name if "." not in name)

    @cached_property
    def extensions(self) -> frozenset[str]:
        """`py` of `src/app.py`; a leading dot makes none: `.gitignore` has no extension."""
        dotted = (name for name in self.by_name if "." in name[1:])
        return frozenset(name.rpartition(".")[2] for name in dotted)

    @cached_property
    def spaced(self) -> frozenset[str]:
        """`docs/my guide.md`, `my guide.md`: a pattern sees only the last word of them."""
        return frozenset(chain.from_iterable(map(_spaced_tails, self.paths)))

    @cached_property
    def _spaced_lengths(self) -> dict[str, list[int]]:
        """By the last word of a path with blanks, the lengths of all that end in it."""
        lengths: dict[str, set[int]] = {}
        for path in self.spaced:
            lengths.setdefault(path.rpartition(" ")[2], set()).add(len(path))
        return {word: sorted(known, reverse=True) for word, known in lengths.items()}

    def with_blanks(self, word: str, text: str, close: int) -> str:
        """The longest path with blanks that text[:close] and its last word end in; else the word.

        By length: a tree may hold 100,000 files called `my guide.md`.
        """
        for length in self._spaced_lengths.get(word, ()):
            if length <= close and text[close - length : close] in self.spaced:
                return text[close - length : close]
        return word

    def resolve(self, written: str) -> Resolved:
        """How a written path resolves.

        It is exact, a tail of one file (from a `/` on), of several (ambiguous), or of none
        (missing).
        """
        if written not in self._resolved:
            self._resolved[written] = self._resolve(written)
        return self._resolved[written]

    def _resolve(self, written: str) -> Resolved:
        path = self.normalise(written)
        # A file may be called `a%20b.md` itself, so the path as written has the first claim.
        if resolved := self._look_up(path):
            return resolved
        plain = unquote(path)
        for name in (plain, _LINKED.sub("", path, count=1), self._composed.get(_nfc(path), "")):
            if name not in ("", path) and (resolved := self._look_up(name)):
                return resolved
        return Resolved("missing", plain)

    def _look_up(self, name: str) -> Resolved | None:
        if name in self.paths:
            return Resolved("exact", name)
        if name.startswith("/"):
            # A link's leading slash is the repository's root. Any other absolute path lies outside
            # every root: `/usr/lib/app.py` is no tail of anything here.
            if name[1:] in self.paths:
                return Resolved("exact", name[1:])
            return self._in_checkout(name)
        files = self._ending_in(name)
        if not files:
            return None
        if len(files) == 1:
            return Resolved("suffix", self.backwards[files[0]][::-1])
        return Resolved("ambiguous", name)

    def _in_checkout(self, name: str) -> Resolved | None:
        """`/Users/me/src/shop/src/app.py`: in somebody's checkout, if the tree has `src/app.py`."""
        if not name.startswith(_HOMES) or any(part in name for part in FOREIGN_PARTS):
            return None
        parts = name.split("/")[3:-1]
        for place in range(1, len(parts)):
            tail = "/".join((*parts[place:], _name(name)))
            if tail in self.paths:
                return Resolved("suffix", tail)
        return None

    def count_ending_in(self, path: str) -> int:
        """Files of which a path is a tail."""
        return len(self._ending_in(path))

    def ending_in(self, path: str, most: int) -> list[str]:
        """The first of them."""
        return [self.backwards[place][::-1] for place in self._ending_in(path)[:most]]

    def _ending_in(self, path: str) -> range:
        """Places in `backwards`."""
        # With the slash: `hop.py` is no tail of `src/shop.py`.
        tail = path[::-1] + "/"
        begin = bisect.bisect_left(self.backwards, tail)
        # No path holds a character above the last one, surrogates of its bytes included.
        end = bisect.bisect_left(self.backwards, tail + chr(sys.maxunicode), begin)
        return range(begin, end)

    @cached_property
    def backwards(self) -> list[str]:
        """Every path from its end, sorted: compared with each `mod.rs` of a large tree, each tail
        that an answer writes would take as long as the tree is large."""
        return sorted(path[::-1] for path in self.paths)

    def normalise(self, written: str) -> str:
        """`/` as separator, no sandbox root, no `./`; case and everything else as written."""
        path = written
        # A backslash may also belong to a file's name.
        if path not in self.paths:
            path = path.replace("\\", "/")
        path = self._without_root(path)
        while path.startswith(("./", ".../", "…/")):
            path = path.partition("/")[2]
        if "//" in path or "/./" in path or "/../" in path:
            path = posixpath.normpath(path)
        return path

    def _without_root(self, path: str) -> str:
        for root in self._roots:
            if root and path.startswith(root + "/"):
                return path[len(root) + 1 :]
        return path

    def blob(self, repository: str, rest: str) -> BlobPlace | None:
        """What a blob URL's tail shows; None if it points into another repository.

        A link to the commit's SHA is ours, whatever fork or mirror it goes through. Any other is
        ours by its URL or, if no URL of the repository is known, by its path.
        """
        place = self._split_ref(rest)
        ours = place.path in self.paths
        if self._repositories:
            ours = _plain_url(repository) in self._repositories
        if ours or self.is_commit(place.ref):
            return place
        return None

    def _split_ref(self, rest: str) -> BlobPlace:
        """A ref may hold slashes (`feature/x/src/app.py`): the split whose path is a file wins."""
        parts = rest.split("/")
        for cut in range(1, min(len(parts), _LONGEST_REF + 1)):
            path = "/".join(parts[cut:])
            if path in self.paths:
                return BlobPlace("/".join(parts[:cut]), path)
        ref, _, path = rest.partition("/")
        return BlobPlace(ref, path)

    def is_commit(self, ref: str) -> bool:
        """True if a ref is the commit, in full or abbreviated."""
        # Fewer digits would make a branch called `abc` the commit.
        return len(ref) >= 7 and self._commit.startswith(ref.lower())


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _nfc(path: str) -> str:
    return path if path.isascii() else unicodedata.normalize("NFC", path)


def _plain_root(root: str) -> str:
    """`C:\\code\\` as `C:/code`; the root folder itself is empty, and stands before nothing."""
    return root.replace("\\", "/").rstrip("/")


def _plain_url(url: str) -> str:
    """`host/owner/name`, however the URL is spelt."""
    plain = url.lower().removesuffix("/").removesuffix(".git").rpartition("@")[2]
    if "://" in plain:
        return plain.partition("://")[2]
    return plain.replace(":", "/", 1)  # github.com:owner/name


def _spaced_tails(path: str) -> Iterable[str]:
    """A path with blanks, and its bare name."""
    if " " not in path:
        return ()
    # The whole path first: its bare name would be a weaker citation, of perhaps several files.
    return dict.fromkeys((path, _name(path)))
