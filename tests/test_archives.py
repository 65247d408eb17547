"""Archives that attack, and archives that are merely odd."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.records import NpmSource, PypiSource
from runner.repositories import archives
from runner.repositories.archives import check_path, download, read_archive
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import owner_labels
from runner.sandbox.npm import npm_in_container
from runner.support.errors import SourceError
from tests.npm_registry import serving

Entry = tuple[str, bytes] | tarfile.TarInfo


def tar(path: Path, *entries: Entry, mode: str = "gz") -> Path:
    with tarfile.open(path, "w:gz" if mode == "gz" else "w:bz2") as archive:
        for entry in entries:
            info = entry if isinstance(entry, tarfile.TarInfo) else tarfile.TarInfo(entry[0])
            data = b"" if isinstance(entry, tarfile.TarInfo) else entry[1]
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def contents(path: Path) -> dict[str, bytes]:
    return {member.path: member.data for member in read_archive(path)}


def refused(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        list(read_archive(path))
    return str(caught.value)


@pytest.mark.parametrize("mode", ["gz", "bz2"])
def test_a_tar_loses_its_top_folder_and_nothing_else(tmp_path: Path, mode: str) -> None:
    made = tar(
        tmp_path / "a",
        ("x-1/a.py", b"1\r\n"),
        ("x-1/b/c", b"\0"),
        ("x-1/.gitattributes", b"* text=auto"),
        mode=mode,
    )
    assert contents(made) == {"a.py": b"1\r\n", "b/c": b"\0", ".gitattributes": b"* text=auto"}


def test_a_zip_reads_as_a_tar_does(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("x-1/", b"")
        made.writestr("x-1/a.py", b"1")
    assert contents(tmp_path / "a.zip") == {"a.py": b"1"}


def test_modes_become_gits_and_setuid_is_dropped(tmp_path: Path) -> None:
    run, read = tarfile.TarInfo("x/run"), tarfile.TarInfo("x/read")
    run.mode, read.mode = 0o6777, 0o600
    assert [member.mode for member in read_archive(tar(tmp_path / "a", run, read))] == [
        "100755",
        "100644",
    ]


def test_names_that_differ_in_case_are_two_files(tmp_path: Path) -> None:
    assert set(contents(tar(tmp_path / "a", ("x/A", b"1"), ("x/a", b"2")))) == {"A", "a"}


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "x/../../evil",
        "/etc/evil",
        "C:/evil",
        "C:evil",
        "x\\..\\evil",
        "x/a\nb",
        "x/./a/./b",
        "x//a",
        "x/.git/config",
        "x/.GIT/hooks/a",
        "x/sub/.git",
        "x/.git. /config",
        "x/git~1/config",
        "x/" + "a" * 300,
        "x",
        "y/second-top",
    ],
)
def test_no_path_leaves_the_workspace_or_reaches_a_git_folder(tmp_path: Path, name: str) -> None:
    assert refused(tar(tmp_path / "a", ("x/ok", b""), (name, b"evil")))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("x/ok", b"")
        made.writestr(name, b"evil")
    assert refused(tmp_path / "a.zip")


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../..", "../../etc/passwd", "sub/../../..", "b/..", "..\\..", ""]
)
def test_no_link_leads_out(tmp_path: Path, target: str) -> None:
    assert "out of the archive" in refused(
        tar(tmp_path / "a", special("x/d/link", tarfile.SYMTYPE, target))
    )


@pytest.mark.parametrize("target", ["a.py", "../a.py", "../e/f", "./a.py", "..", "e..f", "...."])
def test_a_link_inside_stays_a_link(tmp_path: Path, target: str) -> None:
    (member,) = read_archive(tar(tmp_path / "a", special("x/d/link", tarfile.SYMTYPE, target)))
    assert (member.mode, member.data) == ("120000", target.encode())


def test_a_link_in_a_zip_is_judged_as_one(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("x/link")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr(info, "../../etc/passwd")
    assert "out of the archive" in refused(tmp_path / "a.zip")


def test_a_hard_link_repeats_an_earlier_file_or_is_refused(tmp_path: Path) -> None:
    inside = tar(tmp_path / "a", ("x/one", b"1"), special("x/two", tarfile.LNKTYPE, "x/one"))
    assert [(member.path, member.same_as) for member in read_archive(inside)] == [
        ("one", ""),
        ("two", "one"),
    ]
    assert "not an earlier file" in refused(
        tar(tmp_path / "b", ("x/one", b"1"), special("x/two", tarfile.LNKTYPE, "x/etc"))
    )
    assert refused(
        tar(tmp_path / "c", ("x/one", b"1"), special("x/two", tarfile.LNKTYPE, "/etc/passwd"))
    )


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, b"Z"])
def test_devices_pipes_and_unknown_kinds_are_refused(tmp_path: Path, kind: bytes) -> None:
    assert "device" in refused(tar(tmp_path / "a", special("x/dev", kind)))


def test_a_path_given_twice_is_refused(tmp_path: Path) -> None:
    assert "twice" in refused(tar(tmp_path / "a", ("x/a", b"1"), ("x/a", b"2")))
    assert "twice" in refused(
        tar(tmp_path / "b", special("x/a", tarfile.SYMTYPE, "b"), ("x/a/c", b"2"))
    )
    assert "twice" in refused(
        tar(tmp_path / "c", ("x/a/c", b"2"), special("x/a", tarfile.SYMTYPE, "b"))
    )


def test_a_bomb_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tar(tmp_path / "a", *((f"x/{i}", bytes(2**20)) for i in range(20)))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("x/a", bytes(20 * 2**20))
    assert bomb.stat().st_size < 50_000
    monkeypatch.setattr(archives, "MAX_BYTES", 2**20)
    monkeypatch.setattr(archives, "MAX_FILES", 100)
    assert "more than" in refused(bomb)
    assert "more than" in refused(tmp_path / "a.zip")


def test_a_bomb_in_a_header_stops_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tarfile.TarInfo("x/a")
    info.pax_headers = {"comment": "a" * 20 * 2**20}
    with tarfile.open(tmp_path / "a", "w:gz", format=tarfile.PAX_FORMAT) as made:
        made.addfile(info)
    monkeypatch.setattr(archives, "MAX_BYTES", 2**20)
    monkeypatch.setattr(archives, "MAX_FILES", 100)
    assert "more than" in refused(tmp_path / "a")


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_FILES", 10)
    assert "more than 10 files" in refused(
        tar(tmp_path / "a", *((f"x/{i}", b"") for i in range(11)))
    )


@pytest.mark.parametrize(
    "data", [b"", b"not an archive", b"\x1f\x8b broken", b"BZh9 broken", b"PK\x03\x04 broken"]
)
def test_what_is_no_archive_is_said_to_be_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    assert refused(tmp_path / "a")


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    whole = tar(tmp_path / "a", ("x/a", os.urandom(100_000))).read_bytes()
    (tmp_path / "a").write_bytes(whole[: len(whole) // 2])
    assert "not a readable archive" in refused(tmp_path / "a")


def test_an_archive_without_a_file_is_refused(tmp_path: Path) -> None:
    assert "no file" in refused(tar(tmp_path / "a", special("x/d", tarfile.DIRTYPE)))


@given(st.text(max_size=30))
def test_a_path_let_through_stays_below_the_top(path: str) -> None:
    try:
        check_path(path)
    except SourceError:
        return
    top = Path("/top")
    assert (top / path).is_relative_to(top)
    assert os.path.normpath(top / path) == str(top / path)
    assert ".git" not in path.casefold().split("/")


# --- fetching -------------------------------------------------------------------------------

EVIL_SETUP = b"import pathlib; pathlib.Path(__file__).resolve(); open('%b', 'w')\n"


@pytest.fixture
def own_index(tmp_path: Path) -> dict[str, str]:
    """Environment of a pip whose index is a folder with one sdist.

    The sdist's setup.py and build backend leave a trace if they are run.
    """
    trace = str(tmp_path / "code-was-run").encode()
    backend = b'[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n'
    folder = tmp_path / "simple" / "evil"
    folder.mkdir(parents=True)
    (tmp_path / "to").mkdir()
    files = {
        "setup.py": EVIL_SETUP % trace,
        "evil.py": EVIL_SETUP % trace,
        "pyproject.toml": backend,
    }
    made = tar(
        folder / "evil-1.0.tar.gz", *((f"evil-1.0/{name}", data) for name, data in files.items())
    )
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    (folder / "index.html").write_text(
        f'<!DOCTYPE html><a href="evil-1.0.tar.gz#sha256={digest}">evil-1.0.tar.gz</a>'
    )
    plain = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    return {
        **plain,
        "PIP_INDEX_URL": (tmp_path / "simple").as_uri(),
        "PIP_CONFIG_FILE": os.devnull,
        "digest": digest,
    }


def test_an_sdist_is_had_without_running_its_code(
    tmp_path: Path, own_index: dict[str, str]
) -> None:
    source = PypiSource(kind="pypi", name="evil", version="1.0", sha256=own_index["digest"])
    assert "setup.py" in contents(download(source, tmp_path / "to", environ=own_index))
    assert not (tmp_path / "code-was-run").exists()


def strange(version: str) -> PypiSource:
    """With a digest that no sdist has."""
    return PypiSource(kind="pypi", name="evil", version=version, sha256="0" * 64)


def test_a_digest_that_no_sdist_has_is_refused_with_what_is_offered(
    tmp_path: Path, own_index: dict[str, str]
) -> None:
    with pytest.raises(SourceError, match=f"it offers: evil-1.0.tar.gz {own_index['digest']}"):
        download(strange("1.0"), tmp_path / "to", environ=own_index)


def test_a_tampered_sdist_is_refused_even_where_the_index_gives_no_digest(
    tmp_path: Path, own_index: dict[str, str]
) -> None:
    (tmp_path / "simple/evil/index.html").write_text(
        '<!DOCTYPE html><a href="evil-1.0.tar.gz">evil-1.0.tar.gz</a>'
    )
    with pytest.raises(SourceError, match="the scenario says 000"):
        download(strange("1.0"), tmp_path / "to", environ=own_index)


def test_a_version_that_does_not_exist_is_named(tmp_path: Path, own_index: dict[str, str]) -> None:
    with pytest.raises(SourceError, match=r"pypi:evil==9.9: .*none of this version"):
        download(strange("9.9"), tmp_path / "to", environ=own_index)


@pytest.fixture
def own_registry(tmp_path: Path) -> Iterator[Callable[[], tuple[dict[str, str], str]]]:
    """An npm registry on this machine with one package, whose scripts leave a trace when run."""
    script = f"touch {tmp_path}/code-was-run"
    package = {
        "name": "evil",
        "version": "1.0.0",
        "scripts": dict.fromkeys(("prepack", "prepare", "install", "postinstall"), script),
    }
    with serving(package) as (address, integrity):
        cache = {"NPM_CONFIG_CACHE": str(tmp_path / "cache"), "NPM_CONFIG_REGISTRY": address}
        without_proxy = {
            key: value for key, value in os.environ.items() if "proxy" not in key.lower()
        }
        yield lambda: ({**without_proxy, **cache}, integrity)


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not on this machine")
def test_an_npm_package_is_had_without_running_its_scripts(
    tmp_path: Path, own_registry: Callable[[], tuple[dict[str, str], str]]
) -> None:
    environ, integrity = own_registry()
    (tmp_path / "to").mkdir()
    source = NpmSource(kind="npm", name="evil", version="1.0.0", integrity=integrity)
    assert contents(download(source, tmp_path / "to", environ=environ))["index.js"] == b"1"
    assert not (tmp_path / "code-was-run").exists()
    (tmp_path / "again").mkdir()
    with pytest.raises(
        SourceError, match=r"npm:evil@1.0.0: its digest is .*, the scenario says sha512-AAAA"
    ):
        download(
            source.model_copy(update={"integrity": f"sha512-{'A' * 86}=="}),
            tmp_path / "again",
            environ=environ,
        )


def test_without_npm_anywhere_the_hint_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    source = NpmSource(kind="npm", name="evil", version="1.0.0", integrity=f"sha512-{'A' * 86}==")
    with pytest.raises(SourceError, match="hint: install npm"):
        download(source, tmp_path)


@pytest.mark.docker
def test_where_the_machine_has_no_npm_the_base_image_lends_its_own(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: docker.DockerClient,
    base_image: str,
    builder_env: BuilderEnv,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    source = NpmSource(kind="npm", name="zod", version="4.6.7", integrity=f"sha512-{'A' * 86}==")
    with pytest.raises(
        SourceError, match="its digest is sha512-"
    ):  # had, and refused: the digest above is made up
        download(source, tmp_path, npm=npm_in_container(engine, base_image, builder_env))
    assert contents(tmp_path / "package.tgz")["package.json"]
    (key, value) = next(iter(owner_labels(60).items()))
    mine = engine.api.containers(
        all=True, filters={"label": ["fairtrial=builder", f"{key}={value}"]}
    )
    assert mine == []
