"""Which Python a package is locked for: uv for real, on an index of this machine."""

from __future__ import annotations

import hashlib
import http.server
import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.authoring.onboarding import installing
from runner.authoring.onboarding.installing import say_size
from runner.authoring.onboarding.locking import Locker, locked_version, pythons_for, sizes_in
from runner.authoring.onboarding.server_source import LocalPath, PypiPackage
from runner.catalog.checkout import Checkout
from runner.records import Python
from runner.sandbox.builder import BuilderEnv
from runner.support.errors import EngineError
from tests.models.doubles import serving
from tests.tiny_server import ROOT

NEEDS = {
    ("held", "2.0"): "newlib>=1",
}
"""Package and version -> what it needs."""
WHEELS = {
    ("held", "1.0"): ">=3.9",
    ("held", "2.0"): ">=3.9",
    ("newlib", "0.9"): ">=3.9",
    ("newlib", "1.0"): ">=3.9",
    ("grown", "1.0"): ">=3.9",
    ("grown", "2.0"): ">=3.12",
    ("older", "1.0"): ">=3.9,<3.12",
    ("tomorrow", "1.0"): ">=3.99",
}
"""Package and version -> the Python that it asks for."""


def metadata(name: str, version: str) -> str:
    python = WHEELS[name, version]
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: {python}\n"
    need = NEEDS.get((name, version))
    return about + (f"Requires-Dist: {need}\n" if need else "")


def wheel(name: str, version: str) -> bytes:
    about = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "",
        f"{about}/METADATA": metadata(name, version),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return packed.getvalue()


class Index(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.strip("/").rpartition("/")[2]
        files = {f"{one}-{at}-py3-none-any.whl": (one, at) for one, at in WHEELS}
        if package := files.get(name.removesuffix(".metadata")):
            is_told = name.endswith(".metadata")
            self.answer(metadata(*package).encode() if is_told else wheel(*package))
            return
        links = []
        for file, package in files.items():
            if package[0] == name:
                digest = hashlib.sha256(wheel(*package)).hexdigest()
                wanted = WHEELS[package].replace("<", "&lt;").replace(">", "&gt;")
                link = f'<a href="/{file}#sha256={digest}" data-requires-python="{wanted}"'
                links.append(f"{link} data-dist-info-metadata=true>{file}</a>")
        self.answer(f"<html><body>{''.join(links)}</body></html>".encode())

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def locker() -> Iterator[Locker]:
    """Without an engine: uv runs on this machine."""
    engine = docker.DockerClient(base_url="unix:///nowhere.sock", version="1.44")
    with serving(Index) as url:
        env = BuilderEnv(proxies={}, indexes={"UV_DEFAULT_INDEX": f"{url}/simple"}, ca_bundle=None)
        yield Locker(root=ROOT, engine=engine, image="none", env=env)
    engine.close()


def test_a_package_whose_newest_version_asks_for_a_newer_python_is_not_locked_at_an_older_one(
    locker: Locker, tmp_path: Path
) -> None:
    assert locker.lock_pypi(PypiPackage(name="grown", version=""), tmp_path) == "3.13"
    assert locked_version(tmp_path, "grown") == "2.0"


def test_a_version_that_was_asked_for_is_locked_for_the_first_python_that_runs_it(
    locker: Locker, tmp_path: Path
) -> None:
    assert locker.lock_pypi(PypiPackage(name="grown", version="1.0"), tmp_path) == "3.11"
    assert locked_version(tmp_path, "grown") == "1.0"
    assert locker.lock_pypi(PypiPackage(name="older", version=""), tmp_path) == "3.11"


def test_a_server_that_cannot_have_what_is_added_is_refused_and_not_taken_at_an_older_version(
    locker: Locker, tmp_path: Path
) -> None:
    added = PypiPackage(name="held", version="", also=("newlib<1",))
    # No Python gives it the newest: then it is not the newer one's lock.
    assert locker.lock_pypi(added, tmp_path) == "3.11"
    assert "3.13" not in (tmp_path / "requirements.txt").read_text()
    assert locked_version(tmp_path, "held") == "1.0"
    with pytest.raises(EngineError, match="held"):
        locker.lock_pypi(replace(added, version="2.0"), tmp_path)


def test_a_folder_that_needs_a_package_for_a_newer_python_gets_that_python(
    locker: Locker, tmp_path: Path
) -> None:
    assert locker.lock_python("grown>=2\n", tmp_path) == "3.13"
    digest = hashlib.sha256(wheel("grown", "2.0")).hexdigest()
    assert digest in (tmp_path / "requirements.txt").read_text()


def test_a_package_that_none_of_the_pythons_runs_is_refused_by_the_python_that_it_asks_for(
    locker: Locker, tmp_path: Path
) -> None:
    with pytest.raises(EngineError, match=r"does not satisfy Python>=3\.99") as caught:
        locker.lock_pypi(PypiPackage(name="tomorrow", version=""), tmp_path)
    first = caught.value.what.splitlines()[0]
    assert first == "it asks for Python >=3.99, and the sandbox has 3.11 and 3.13"
    assert "your project" not in caught.value.what, "there is none"
    with pytest.raises(EngineError, match="missing"):
        locker.lock_pypi(PypiPackage(name="missing", version=""), tmp_path)


@pytest.mark.parametrize(
    ("wanted", "first"),
    [
        ("", "3.11"),
        (">=3.10", "3.11"),
        ("<3.12", "3.11"),
        (">=3.12,<4", "3.13"),
        ("~=3.13", "3.13"),
        (">=3.14", "3.13"),
    ],
)
def test_a_projects_own_lower_bound_says_which_python_comes_first(wanted: str, first: str) -> None:
    assert pythons_for(wanted)[0] == first


PYLOCK = """
lock-version = "1.0"
[[packages]]
name = "torch"
wheels = [{ url = "https://x/t-cp311.whl", size = 539136850 }]
[[packages]]
name = "pure"
sdist = { url = "https://x/pure.tar.gz", size = 99 }
wheels = [{ url = "https://x/a.whl", size = 10 }, { url = "https://x/b.whl", size = 12 }]
[[packages]]
name = "built"
sdist = { url = "https://x/built.tar.gz", size = 7 }
[[packages]]
name = "untold"
wheels = [{ url = "https://x/u.whl" }]
"""


def test_gigabytes_are_told_before_they_are_fetched_and_little_is_not() -> None:
    sizes = sizes_in(PYLOCK)
    assert sizes == {"torch": 539136850, "pure": 12, "built": 7, "untold": 0}
    said: list[str] = []
    say_size(sizes, said.append)
    assert said == [
        "  its packages are 0.5 GB to download, unless they are here "
        "(torch 0.5, pure 0.0, built 0.0)"
    ]
    say_size({"torch": 400_000_000}, said.append)
    assert len(said) == 1


def test_a_folders_gigabytes_are_told_as_a_packages_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Sized(Locker):
        """Its registry has one package, of a gigabyte."""

        def __init__(self) -> None:
            pass

        def lock_python(self, *_: Any, **__: Any) -> Python:
            return "3.11"

        def downloads(self, *_: Any) -> dict[str, int]:
            return {"torch": 10**9}

    own = tmp_path / "own"
    own.mkdir()
    (own / "pyproject.toml").write_text('[project]\nname = "own"\ndependencies = ["torch"]\n')
    (own / "server.py").write_text("print(1)\n")
    said: list[str] = []
    opened = Checkout(root=ROOT, state=tmp_path, environ={}, log=said.append)
    monkeypatch.setattr(installing, "locker_of", lambda _: Sized())
    installing.install(LocalPath(path=own), "own", tmp_path / "to", opened, before="")
    assert any("1.0 GB to download" in line for line in said)
