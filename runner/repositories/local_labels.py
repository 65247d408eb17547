"""Where the repositories that tracked files call `local:<label>` are on this machine."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

from runner.records import GitSource, RepoPin, Source, digest_of, parse_yaml, read_text
from runner.records.repositories import (
    LOCAL_SCHEME,
    PLAIN,
    LocalRepositories,
    is_plain_name,
    plain_name,
)
from runner.records.run_store import write_whole
from runner.repositories.archives import RunNpm
from runner.repositories.folders import (
    OwnRepository,
    as_it_is,
    cache_of,
    fetch_at,
    of_url,
    own_source,
    source_at,
    taken_folder,
)
from runner.repositories.repository import (
    Remote,
    Repository,
    fetch_source,
    git_at,
    open_repository,
    run_git,
)
from runner.support.errors import FairtrialError, SourceError

LOCAL_FILE = ".fairtrial-local.yaml"
"""Beside scenarios/: where each label's repository is on this machine. Never committed."""
_HEAD = "# Where the repositories of this folder's scenarios are on this machine: not for git.\n"


def remember(project: Path, label: str, folder: Path) -> Path:
    """Note where a label's repository is; the file that says so."""
    known = {**_known(project), label: str(folder.resolve())}
    lines = [f"  {name}: {_quoted(path)}\n" for name, path in sorted(known.items())]
    write_whole(project / LOCAL_FILE, _HEAD + "repositories:\n" + "".join(lines))
    return project / LOCAL_FILE


def label_of(project: Path, repo: str, asked: str) -> str:
    """What a folder is called in tracked files: as asked, as before, or by a number of our own.

    Never by the folder's name, which may be nobody's business. Raises FairtrialError if it is
    no plain name, or another folder's.
    """
    if asked and not is_plain_name(asked):
        hint = f"--label {plain_name(asked) or 'shop'}"
        raise FairtrialError(f"a label is of {PLAIN}", where=f"--label {asked}", hint=hint)
    known, folder = _known(project), str(Path(repo).resolve())
    if asked and known.get(asked, folder) != folder:
        hint = f"choose another with --label, or mend {LOCAL_FILE}"
        raise FairtrialError(f"{asked} is {known[asked]} already", where="--label", hint=hint)
    if asked:
        return asked
    for label, path in known.items():
        if path == folder:
            return label
    numbered = (f"own-{number}" for number in itertools.count(2))
    return next(label for label in ("own", *itertools.islice(numbered, 99)) if label not in known)


def named_source(  # noqa: PLR0913 - what names it, and where that is looked up
    repo: str,
    commit: str | None,
    *,
    label: str,
    project: Path,
    state: Path,
    environ: Mapping[str, str],
) -> tuple[GitSource, OwnRepository | None]:
    """A folder, fetched, or a URL at a full commit, which nothing is asked for yet.

    Raises FairtrialError if a URL comes without its commit, SourceError if the folder's is missing.
    """
    if Path(repo).is_dir():
        name = label_of(project, repo, label)
        own = own_source(repo, commit, False, state, label=name, environ=environ)
        return own.source, own
    if commit is None:
        hint = "the full one: a branch would be another tree tomorrow"
        raise FairtrialError("a URL needs its --commit", where=f"--repo {repo}", hint=hint)
    return of_url(repo, commit), None


def history_of(
    own: OwnRepository, repo: str, state: Path, environ: Mapping[str, str] | None
) -> Path:
    """A git directory with the commits before the source's: the user's, or a URL's fetched here."""
    if own.folder is not None:
        return open_repository(repo, own.commit, state)[0]
    folder = cache_of(state) / f"history-{digest_of(own.source.url)[:12]}.git"
    if not folder.exists():
        run_git(git_at(folder), "init", "--quiet", "--bare", "--template=")
    remote = Remote(url=own.source.url, environ=environ)
    remote.fetch(folder, f"+{own.commit}:refs/heads/{own.commit}")
    return folder


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def _known(project: Path) -> Mapping[str, str]:
    if not (project / LOCAL_FILE).is_file():
        return {}
    text = read_text(project / LOCAL_FILE, where=LOCAL_FILE, limit_bytes=512 * 1024)
    return parse_yaml(text, LocalRepositories, where=LOCAL_FILE).repositories


def open_source(  # noqa: PLR0913 - fetch_source's own, and where labels are looked up
    source: Source,
    *,
    project: Path,
    cache: Path,
    pins: Mapping[str, RepoPin] | None,
    environ: Mapping[str, str] | None = None,
    npm: RunNpm | None = None,
) -> Repository:
    """As `fetch_source`; a `local:` one from where this machine has it.

    Raises SourceError if nothing here says where that is, or if the commit is not there.
    """
    if not isinstance(source, GitSource) or source.local_label is None:
        return fetch_source(source, cache=cache, pins=pins, environ=environ, npm=npm)
    place = _place_of(source, project, cache)
    if pins is not None:
        pins = {source_at(source, place).label: pins[source.label]} if source.label in pins else {}
    return fetch_at(source, place, cache, environ, pins)


def _place_of(source: GitSource, project: Path, cache: Path) -> Path:
    """A repository of this machine that holds the commit."""
    label = source.local_label or ""
    folder = _known(project).get(label)
    if folder is None or not Path(folder).is_dir():
        hint = (
            f"write `{label}: /path/to/the/clone` under `repositories:` in {LOCAL_FILE}, which git"
            " ignores; that clone has to hold the commit"
        )
        raise SourceError(f"no folder of this machine is {LOCAL_SCHEME}{label}", hint=hint)
    taken = taken_folder(cache, source.commit)
    if taken.is_dir():
        return taken
    try:
        return open_repository(folder, source.commit, cache)[0]
    except SourceError as error:
        again = as_it_is(Path(folder), cache)
        if again.commit == source.commit:
            return again.place
        hint = f"{error.hint}; if it was taken with --dirty, the files have changed since"
        raise SourceError(error.what, where=error.where, hint=hint) from error
