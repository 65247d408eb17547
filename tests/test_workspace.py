"""Sources become one commit, and images that hold nothing else. Real git, real containers."""

from __future__ import annotations

import errno
import functools
import http.server
import io
import os
import socket
import subprocess
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from runner.records import GitSource, PypiSource, RepoPin
from runner.repositories import repository
from runner.repositories.repository import Repository, fetch_source, open_repository
from runner.repositories.worktree import write_worktree
from runner.sandbox import workspace
from runner.sandbox.builder import Builder, BuilderSpec, open_builder
from runner.sandbox.image_names import RECIPE_LABEL, read_images
from runner.sandbox.workspace import ensure_workspace
from runner.support.errors import FairtrialError, LockError, SandboxError, SourceError
from tests.models.doubles import serving
from tests.test_archives import own_index, special, tar

__all__ = ["own_index"]
QUIET = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
}


def git(folder: Path, *arguments: str, stdin: str | None = None) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=QUIET,
        check=True,
        capture_output=True,
        text=True,
        input=stdin,
    ).stdout.strip()


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three commits on `main`, a tag on the second and a side branch; the second is pinned."""
    folder = tmp_path_factory.mktemp("upstream")
    # Or another run of these tests on the same engine would share the image, and remove it.
    mark = uuid.uuid4().hex
    git(folder, "init", "-q", "-b", "main")
    for number in (1, 2, 3):
        (folder / "app").mkdir(exist_ok=True)
        (folder / "app/main.py").write_text(f"version = {number}\n")
        (folder / "run.sh").write_text("#!/bin/sh\n")
        (folder / "run.sh").chmod(0o755)
        (folder / "windows.txt").write_bytes(b"one\r\ntwo\r\n")
        (folder / ".gitattributes").write_text("*.txt text eol=crlf\n*.py filter=evil\n")
        (folder / "naïve name.md").write_text("é")
        if number == 1:
            (folder / "link").symlink_to("app/main.py")
        if number == 3:
            (folder / "solution.txt").write_text("the answer from the future\n")
        git(folder, "-c", "core.autocrlf=false", "add", "-A")
        git(folder, "commit", "-q", "-m", f"commit {number} {mark}")
        if number == 2:
            git(folder, "tag", "-a", "v2", "-m", "two")
    git(folder, "branch", "side", "HEAD~2")
    return folder


@pytest.fixture(scope="session")
def pinned(upstream: Path) -> GitSource:
    return GitSource(kind="git", url=str(upstream), commit=git(upstream, "rev-parse", "main~1"))


def objects(folder: Path, kind: str) -> list[str]:
    listing = git(
        folder, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)"
    )
    return [sha for line in listing.splitlines() for name, sha in [line.split(" ")] if name == kind]


def fetched(source: GitSource | PypiSource, cache: Path, **environ: str) -> Repository:
    return fetch_source(source, cache=cache, pins=None, environ={**os.environ, **environ})


# --- git sources ----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_git_source_becomes_its_one_commit_under_its_own_sha(
    tmp_path: Path, pinned: GitSource, scheme: str
) -> None:
    got = fetched(pinned.model_copy(update={"url": scheme + pinned.url}), tmp_path)
    assert got.commit == pinned.commit
    assert objects(got.path, "commit") == [pinned.commit]
    assert objects(got.path, "tag") == []
    assert git(got.path, "rev-list", "--count", "--all") == "1"
    assert git(got.path, "cat-file", "-p", f"{got.commit}:app/main.py") == "version = 2"
    assert got.files == 6


@pytest.fixture
def dumb_url(tmp_path: Path, upstream: Path) -> Iterator[str]:
    """The repository as plain files over HTTP: such a remote cannot hand out one commit."""
    git(tmp_path, "clone", "-q", "--bare", str(upstream), "bare.git")
    git(tmp_path / "bare.git", "update-server-info")

    with serving(functools.partial(QuietFiles, directory=str(tmp_path))) as url:
        yield f"{url}/bare.git"


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


def test_a_remote_that_hands_out_branches_only_still_gives_one_commit(
    tmp_path: Path, pinned: GitSource, dumb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    got = fetched(pinned.model_copy(update={"url": dumb_url}), tmp_path / "cache")
    assert objects(got.path, "commit") == [pinned.commit]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [got.path.name]


def test_a_commit_nobody_has_is_refused_with_a_hint(tmp_path: Path, pinned: GitSource) -> None:
    with pytest.raises(SourceError, match=f"has no commit {'1' * 40}\nhint: no branch or tag"):
        fetched(pinned.model_copy(update={"commit": "1" * 40}), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kind"), [("v2", "tag"), ("main^{tree}", "tree"), ("main:run.sh", "blob")]
)
def test_an_object_that_is_no_commit_is_refused(
    tmp_path: Path, upstream: Path, pinned: GitSource, name: str, kind: str
) -> None:
    sha = git(upstream, "rev-parse", name)
    with pytest.raises(SourceError, match=f"is a {kind}, not a commit"):
        fetched(pinned.model_copy(update={"commit": sha}), tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "ext::touch {trace}",
        "ext::sh -c touch% {trace}",
        "--upload-pack=touch {trace}",
        "-utouch {trace}",
        "fd::17",
        "ssh://-oProxyCommand=touch%20{trace}/x",
    ],
)
def test_a_url_runs_no_command(tmp_path: Path, pinned: GitSource, url: str) -> None:
    trace = tmp_path / "ran"
    with pytest.raises(SourceError):
        fetched(pinned.model_copy(update={"url": url.format(trace=trace)}), tmp_path / "cache")
    assert not trace.exists()


def test_a_remote_that_never_answers_is_given_up(
    tmp_path: Path, pinned: GitSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "FETCH_TIMEOUT_SEC", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"git://127.0.0.1:{server.getsockname()[1]}/x"
        with pytest.raises(SourceError, match=r"(?i)timed? ?out"):
            fetched(pinned.model_copy(update={"url": url}), tmp_path)


def test_a_password_in_a_url_is_refused_before_it_can_be_written_anywhere(
    tmp_path: Path, pinned: GitSource
) -> None:
    with pytest.raises(FairtrialError, match="credential helper") as caught:
        open_repository("https://user:hunter2@127.0.0.1:9/x", pinned.commit, tmp_path)
    assert "hunter2" not in str(caught.value)


# --- archives -------------------------------------------------------------------------------

ARCHIVE_COMMIT = "ed1f0ca853bc19da17ebf2bd9999e9a3f0565ca0"


def imported(folder: Path, monkeypatch: pytest.MonkeyPatch, made: Path) -> Repository:
    """The archive as fetch_source would import it, had a registry handed it out."""
    monkeypatch.setattr(repository, "download", lambda *_, **__: made)
    return fetched(PypiSource(kind="pypi", name="x", version="1", sha256="0" * 64), folder)


def sample(folder: Path) -> Path:
    run = tarfile.TarInfo("x-1/bin/run")
    run.mode = 0o755
    return tar(
        folder / "x.tar.gz",
        ("x-1/windows.txt", b"one\r\ntwo\r\n"),
        ("x-1/.gitattributes", b"* text eol=crlf filter=evil ident\n"),
        run,
        special("x-1/link", tarfile.SYMTYPE, "bin/run"),
        ('x-1/odd "name" é', b"$Id$"),
        special("x-1/bin/same", tarfile.LNKTYPE, "x-1/windows.txt"),
    )


def test_an_archive_becomes_the_same_commit_on_every_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported(tmp_path / "cache", monkeypatch, sample(tmp_path)).commit == ARCHIVE_COMMIT


def test_no_configuration_of_the_user_changes_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks, trace = tmp_path / "hooks", tmp_path / "ran"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "pre-commit", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {trace}\n")
        (hooks / name).chmod(0o755)
    (tmp_path / "config").write_text(
        f"[core]\n autocrlf = true\n hooksPath = {hooks}\n"
        f" attributesFile = {tmp_path}/attributes\n[commit]\n gpgSign = true\n"
        f'[filter "evil"]\n clean = touch {trace}\n smudge = touch {trace}\n'
        f"[init]\n templateDir = {hooks}\n defaultBranch = trunk\n"
        "[i18n]\n commitEncoding = latin1\n[user]\n name = someone\n"
        "[extensions]\n objectFormat = sha256\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.hooksPath={hooks}'")
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2011-11-11T11:11:11Z")
    assert imported(tmp_path / "cache", monkeypatch, sample(tmp_path)).commit == ARCHIVE_COMMIT
    assert not trace.exists()


def test_a_git_hook_that_runs_us_lends_us_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, upstream: Path, pinned: GitSource
) -> None:
    """git tells its hooks where it is, in variables that every git below them obeys."""
    before = git(upstream, "for-each-ref")
    for name, value in {
        "GIT_DIR": upstream / ".git",
        "GIT_WORK_TREE": upstream,
        "GIT_INDEX_FILE": upstream / ".git/index",
    }.items():
        monkeypatch.setenv(name, str(value))
    assert fetched(pinned, tmp_path).commit == pinned.commit
    assert imported(tmp_path / "cache", monkeypatch, sample(tmp_path)).commit == ARCHIVE_COMMIT
    monkeypatch.undo()
    assert git(upstream, "for-each-ref") == before


def test_an_archive_refused_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError, match="pypi:x==1"):
        imported(
            tmp_path / "cache", monkeypatch, tar(tmp_path / "a", ("x/a", b"1"), ("x/../../b", b"2"))
        )
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_full_disk_is_said_to_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(repository, "download", full)
    with pytest.raises(
        SourceError,
        match=r"pypi:x==1: cannot be written: .*No space left.*\nhint: is the disk full",
    ):
        fetched(PypiSource(kind="pypi", name="x", version="1", sha256="0" * 64), tmp_path)


def test_an_sdist_goes_from_the_index_to_a_commit(
    tmp_path: Path, own_index: dict[str, str]
) -> None:
    source = PypiSource(kind="pypi", name="evil", version="1.0", sha256=own_index["digest"])
    got = fetch_source(source, cache=tmp_path / "cache", pins=None, environ=own_index)
    assert git(got.path, "log", "--format=%an %ae %ad %s", "--date=iso") == (
        "fairtrial fairtrial@localhost 2000-01-01 00:00:00 +0000 pypi:evil==1.0"
    )
    assert not (tmp_path / "code-was-run").exists()


# --- pins and cache -------------------------------------------------------------------------


def test_what_is_cached_is_not_fetched_again(
    tmp_path: Path, upstream: Path, pinned: GitSource
) -> None:
    moving = tmp_path / "moving"
    git(tmp_path, "clone", "-q", str(upstream), str(moving))
    source = pinned.model_copy(update={"url": str(moving)})
    first = fetched(source, tmp_path / "cache")
    moving.rename(tmp_path / "gone")
    assert fetched(source, tmp_path / "cache") == first


def test_a_source_that_is_as_locked_passes(tmp_path: Path, pinned: GitSource) -> None:
    pins = {pinned.label: fetched(pinned, tmp_path).pin}
    assert fetch_source(pinned, cache=tmp_path, pins=pins).commit == pinned.commit


@pytest.mark.parametrize(("key", "value"), [("commit", "1" * 40), ("tree", "2" * 40), ("files", 7)])
def test_a_source_that_is_not_as_locked_is_refused(
    tmp_path: Path, pinned: GitSource, key: str, value: object
) -> None:
    pin = fetched(pinned, tmp_path).pin
    lie = RepoPin.model_validate(pin.model_dump() | {key: value})
    with pytest.raises(LockError, match=f"{key} is {getattr(pin, key)}, but locked as {value}"):
        fetch_source(pinned, cache=tmp_path, pins={pinned.label: lie})


def test_a_source_that_is_not_locked_says_how_to_lock_it(tmp_path: Path, pinned: GitSource) -> None:
    with pytest.raises(LockError, match="hint: run `fairtrial lock`"):
        fetch_source(pinned, cache=tmp_path, pins={})


def test_a_cached_repository_moved_to_another_commit_is_refused(
    tmp_path: Path, upstream: Path, pinned: GitSource
) -> None:
    got = fetched(pinned, tmp_path)
    git(got.path, "fetch", "-q", "-f", str(upstream), "+main:refs/heads/main")
    with pytest.raises(LockError, match=f"not {pinned.commit}"):
        fetched(pinned, tmp_path)


def damage(got: Repository) -> None:
    (pack,) = got.path.glob("objects/pack/*.pack")
    pack.chmod(0o644)
    data = bytearray(pack.read_bytes())
    data[12:-20] = bytes(len(data) - 32)
    pack.write_bytes(data)


def test_a_damaged_cache_is_refused_by_name(tmp_path: Path, pinned: GitSource) -> None:
    damage(fetched(pinned, tmp_path))
    with pytest.raises(LockError, match=r"damaged.*\nhint: remove that folder"):
        fetched(pinned, tmp_path)


# --- open_repository ------------------------------------------------------------------------


def test_a_local_repository_is_read_where_it_is(
    tmp_path: Path, upstream: Path, pinned: GitSource
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(upstream), "bare.git")
    git(upstream, "worktree", "add", "-q", str(tmp_path / "linked"), "side")
    for path in (upstream, tmp_path / "bare.git", tmp_path / "linked"):
        found, _ = open_repository(str(path), pinned.commit, tmp_path / "cache")
        assert git(found, "cat-file", "-t", pinned.commit) == "commit"
    assert not (tmp_path / "cache").exists()


def test_the_first_digits_of_a_commit_will_do_where_the_repository_is_here(
    tmp_path: Path, upstream: Path, pinned: GitSource
) -> None:
    assert open_repository(str(upstream), pinned.commit[:9], tmp_path)[1] == pinned.commit


def test_a_branch_of_a_local_repository_is_the_commit_it_stands_at(
    tmp_path: Path, upstream: Path
) -> None:
    side = git(upstream, "rev-parse", "side")
    assert open_repository(str(upstream), "side", tmp_path)[1] == side


def test_the_head_of_a_linked_worktree_is_its_own(tmp_path: Path, upstream: Path) -> None:
    git(upstream, "worktree", "add", "-q", "-f", str(tmp_path / "linked"), "side")
    heads = [git(folder, "rev-parse", "HEAD") for folder in (upstream, tmp_path / "linked")]
    assert len(set(heads)) == 2
    for folder, head in zip((upstream, tmp_path / "linked"), heads, strict=True):
        assert open_repository(str(folder), "HEAD", tmp_path / "cache")[1] == head


def test_a_url_is_fetched_to_the_cache(tmp_path: Path, pinned: GitSource) -> None:
    found, _ = open_repository(f"file://{pinned.url}", pinned.commit, tmp_path / "cache")
    assert found.is_relative_to(tmp_path / "cache")


def test_what_cannot_be_opened_says_why(tmp_path: Path, upstream: Path, pinned: GitSource) -> None:
    for path, commit, why in [
        (upstream, "1" * 40, "has no commit"),
        (upstream, "no-such-branch", "has no commit no-such-branch"),
        (upstream, "--help", "has no commit --help"),
        (upstream, "1234567", "has no commit 1234567, or several"),
        (f"file://{upstream}", pinned.commit[:12], "not a full commit SHA"),
        (f"file://{upstream}", "main", "not a full commit SHA"),
        (tmp_path, pinned.commit, "not a git repository"),
        (tmp_path / "nothing", pinned.commit, "no such folder, and no URL"),
    ]:
        with pytest.raises(SourceError, match=why):
            open_repository(str(path), commit, tmp_path / "cache")


# --- the image ------------------------------------------------------------------------------


def written(got: Repository) -> bytes:
    out = io.BytesIO()
    write_worktree(got, out)
    return out.getvalue()


def test_equal_repositories_give_equal_bytes(tmp_path: Path, pinned: GitSource) -> None:
    assert written(fetched(pinned, tmp_path / "a")) == written(fetched(pinned, tmp_path / "b"))


@pytest.mark.parametrize(
    "tree",
    [
        "100644 blob {blob}\t.git",
        "040000 tree {tree}\t.GIT",
        "100644 blob {blob}\t..",
        "100644 blob {blob}\ta\n040000 tree {tree}\ta",
    ],
)
def test_a_tree_made_by_hand_to_leave_the_workspace_is_refused(tmp_path: Path, tree: str) -> None:
    git(tmp_path, "init", "-q", "--bare", "evil.git")
    blob = git(tmp_path / "evil.git", "hash-object", "-w", "--stdin", stdin="x")
    inner = git(tmp_path / "evil.git", "mktree", stdin=f"100644 blob {blob}\tconfig\n")
    lines = [line.format(blob=blob, tree=inner) for line in tree.splitlines()]
    raw = b""
    for line in lines:
        head, _, name = line.partition("\t")
        mode, _, sha = head.split(" ")
        raw += f"{mode.lstrip('0')} {name}\0".encode() + bytes.fromhex(sha)
    store = ["git", "-C", str(tmp_path / "evil.git"), "hash-object", "-w", "--stdin"]
    done = subprocess.run(
        [*store, "-t", "tree", "--literally"], input=raw, check=True, capture_output=True
    )
    made = done.stdout.decode().strip()
    commit = git(tmp_path / "evil.git", "commit-tree", made, "-m", "evil")
    git(tmp_path / "evil.git", "update-ref", "refs/heads/main", commit)
    source = GitSource(kind="git", url=str(tmp_path / "evil.git"), commit=commit)
    with pytest.raises(SourceError):
        written(fetched(source, tmp_path / "cache"))


@pytest.fixture(scope="module")
def image(
    tmp_path_factory: pytest.TempPathFactory,
    engine: docker.DockerClient,
    base_image: str,
    pinned: GitSource,
) -> Iterator[tuple[str, Repository, Path]]:
    """Workspace image of the pinned commit, its repository, and the state that remembers it."""
    folder = tmp_path_factory.mktemp("workspace")
    got = fetched(pinned, folder / "cache")
    made = ensure_workspace(engine, got, base_image, state_dir=folder / "state")
    yield made.id, got, folder / "state"
    engine.images.remove(made.id, force=True)


def inside(engine: docker.DockerClient, image_id: str, command: str, *, user: str = "agent") -> str:
    labels = {"fairtrial": "test"}
    out = engine.containers.run(
        image_id,
        ["bash", "-c", command],
        user=user,
        network_mode="none",
        remove=True,
        labels=labels,
    )
    return str(out.decode().strip())


@pytest.mark.docker
def test_the_workspace_is_the_commit_and_nothing_after_it(
    engine: docker.DockerClient, image: tuple[str, Repository, Path]
) -> None:
    shown = inside(
        engine,
        image[0],
        "git log --format=%H; git status --porcelain; git branch; cat app/main.py; readlink link;"
        " test -x run.sh && echo runs; od -c windows.txt | head -1; ls solution.txt 2>&1;"
        " git cat-file --batch-all-objects --batch-check | grep -c commit; git diff HEAD; pwd",
    )
    assert shown.splitlines() == [
        image[1].commit,
        "* main",
        "version = 2",
        "app/main.py",
        "runs",
        "0000000   o   n   e  \\n   t   w   o  \\n",
        "ls: cannot access 'solution.txt': No such file or directory",
        "1",
        "/workspace",
    ]


@pytest.mark.docker
def test_nobody_but_root_can_change_the_workspace(
    engine: docker.DockerClient, image: tuple[str, Repository, Path]
) -> None:
    script = "touch app/main.py new .git/new 2>&1 | grep -c 'Permission denied'"
    for user in ("agent", "server"):
        assert inside(engine, image[0], script, user=user) == "3"


@pytest.mark.docker
def test_another_checkout_uses_the_image_and_keeps_its_own_when_the_first_forgets(
    engine: docker.DockerClient,
    base_image: str,
    image: tuple[str, Repository, Path],
    tmp_path: Path,
) -> None:
    said: list[str] = []
    for state in (tmp_path / "two", tmp_path / "three", image[2], tmp_path / "two"):
        found = ensure_workspace(engine, image[1], base_image, state_dir=state, log=said.append)
        assert found.id == image[0]
    assert said == []


@pytest.mark.docker
@pytest.mark.parametrize("drops", [2, 3])
def test_an_engine_that_drops_what_the_check_prints_is_asked_again_and_costs_no_sound_image(
    engine: docker.DockerClient,
    image: tuple[str, Repository, Path],
    monkeypatch: pytest.MonkeyPatch,
    drops: int,
) -> None:
    whole, left = Builder.output, ["commit=1\n"] * drops
    monkeypatch.setattr(Builder, "output", lambda it: left.pop() if left else whole(it))
    if drops < 3:
        workspace._check_contents(engine, image[0], image[1])
    else:
        with pytest.raises(SandboxError, match="cut the check of a workspace image short"):
            workspace._check_contents(engine, image[0], image[1])
    assert (left, engine.images.get(image[0]).id) == ([], image[0])


def recipe_of(engine: docker.DockerClient, image_id: str) -> dict[str, str]:
    labels = engine.images.get(image_id).labels
    return {key: labels[key] for key in ("fairtrial", RECIPE_LABEL)}


@pytest.mark.docker
def test_an_image_put_in_its_place_is_refused(
    engine: docker.DockerClient, base_image: str, image: tuple[str, Repository, Path]
) -> None:
    (name,) = read_images(image[2])
    tag = f"{name}-{image[0].removeprefix('sha256:')[:12]}"
    try:
        engine.images.get(base_image).tag(tag)
        with pytest.raises(LockError, match="something replaced it"):
            ensure_workspace(engine, image[1], base_image, state_dir=image[2])
    finally:
        engine.images.get(image[0]).tag(tag)


@pytest.mark.docker
def test_a_forged_image_is_not_taken_for_ours_where_nothing_is_remembered(
    engine: docker.DockerClient,
    base_image: str,
    image: tuple[str, Repository, Path],
    tmp_path: Path,
) -> None:
    (name,) = read_images(image[2])
    tag = f"{name}-{image[0].removeprefix('sha256:')[:12]}"
    with open_builder(engine, BuilderSpec(image=base_image)) as builder:
        forged = builder.commit(recipe_of(engine, image[0]))
    forged_tag = f"{name}-{forged.removeprefix('sha256:')[:12]}"
    kept = f"fairtrial/test:{uuid.uuid4().hex}"
    engine.images.get(image[0]).tag(kept)  # An image goes with its last tag.
    try:
        engine.images.get(forged).tag(forged_tag)
        engine.api.remove_image(tag)  # Or the image itself, which is older, would be adopted.
        with pytest.raises(LockError, match="not what it should be"):
            ensure_workspace(engine, image[1], base_image, state_dir=tmp_path / "fresh")
        assert read_images(tmp_path / "fresh") == {}
        assert engine.images.list(name=forged_tag) == []
    finally:
        engine.images.get(image[0]).tag(tag)
        engine.api.remove_image(kept)


COMMIT = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m later"
TAG = "git -c user.name=a -c user.email=a@b tag -a v3 -m later"
PACK = "git pack-objects .git/objects/pack/pack && git prune-packed"
LEAKS = (
    {
        "remotes": "git remote add origin somewhere",
        "reflogs": "mkdir -p .git/logs && touch .git/logs/HEAD",
        "loose": "echo later | git hash-object -w --stdin",
        "changes": "touch note.txt",
        "writable": "chmod 666 app/main.py",
        "setuid": "chmod 4755 run.sh",
    },
    {
        "git": "touch .git/ORIG_HEAD",
        "unreachable": f"echo later | git hash-object -w --stdin | {PACK}",
        "refs": "git update-ref refs/stash HEAD",
        "foreign": "chown agent run.sh",
    },
    {"commits": COMMIT, "tags": f"{TAG} && git repack -adq"},
    {
        "damaged": "p=$(ls .git/objects/pack/*.pack); chmod 644 $p;"
        " printf x | dd of=$p bs=1 seek=40 conv=notrunc",
    },
)
"""In each image those that show in no line of another one's."""


@pytest.mark.docker
@pytest.mark.parametrize("leaks", LEAKS, ids=" ".join)
def test_the_image_is_found_out_if_it_leaks(
    engine: docker.DockerClient, image: tuple[str, Repository, Path], leaks: dict[str, str]
) -> None:
    # Named by this run: another one, on the same engine, makes and drops the same leaks.
    tag = f"fairtrial/test:{uuid.uuid4().hex}"
    container = engine.containers.run(
        image[0],
        ["bash", "-ec", "\n".join(leaks.values())],
        user="0",
        detach=True,
        labels={"fairtrial": "test"},
    )
    try:
        assert container.wait()["StatusCode"] == 0, container.logs().decode()
        name, _, version = tag.partition(":")
        container.commit(repository=name, tag=version)
    finally:
        container.remove(force=True)
    with pytest.raises(LockError) as caught:
        workspace._check_contents(engine, tag, image[1])
    for leak in leaks:
        assert f"{leak} is '" in str(caught.value)
    assert engine.images.list(name=tag) == []
