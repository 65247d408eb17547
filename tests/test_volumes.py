"""Install volumes: what names them, what is in them, and how a half-built one is told."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.sandbox import volume_host
from runner.sandbox.base_image import BaseImage
from runner.sandbox.builder import BuilderEnv, BuilderSpec, open_builder
from runner.servers.volume import (
    MOST_DOWNLOADS,
    ServerVolume,
    install_failed,
    verify_volume,
    volume_name,
)
from runner.support.errors import DiskFullError, LockError, ServerError
from tests.npm_registry import serving
from tests.tiny_server import ROOT, Checkout, Folder, read_server, tiny_folder

# --- what names and fills a volume ----------------------------------------------------------


def test_a_changed_lock_is_another_volume_and_a_changed_note_is_not(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "images/servers/code-index-mcp", tmp_path / "s")
    server = read_server(folder)
    before = volume_name(server, "base")
    noted = Folder(server.spec.model_copy(update={"notes": ("new",)}), folder)
    assert volume_name(noted, "base") == before
    with_files = Folder(server.spec.model_copy(update={"files": {"a": "b"}}), folder)
    assert volume_name(with_files, "base") != before
    newer = Folder(server.spec.model_copy(update={"python": "3.13"}), folder)
    assert volume_name(newer, "base") != before
    assert volume_name(server, "other") != before
    with (folder / "requirements.txt").open("a") as file:
        file.write("\n")
    assert volume_name(server, "base") != before


def test_what_a_killed_builder_left_is_removed_links_unfollowed(tmp_path: Path) -> None:
    volume, outside = tmp_path / "volume", tmp_path / "outside"
    for folder in (volume / "python/pkg", outside):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    (volume / "link").symlink_to(outside)
    (volume / volume_host.MARKER).write_text("{}")
    volume_host.empty(volume)
    assert list(volume.iterdir()) == []
    assert (outside / "file").read_text() == "x"


def test_the_content_digest_sees_a_byte_a_mode_a_link_and_a_new_file_but_not_the_marker(
    tmp_path: Path,
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").write_text("one")
    (tmp_path / "l").symlink_to("d/a")
    seen = [volume_host.content(tmp_path)]
    assert seen[0][1] == 3
    for change in (
        lambda: (tmp_path / "d/a").write_text("two"),
        lambda: (tmp_path / "d/a").chmod(0o755),
        lambda: (tmp_path / "l").rename(tmp_path / "m"),
        lambda: (tmp_path / "n").symlink_to("d"),
        lambda: (tmp_path / "d/b").write_text(""),
    ):
        change()
        seen.append(volume_host.content(tmp_path))
    assert len({digest for digest, _ in seen}) == len(seen)
    (tmp_path / volume_host.MARKER).write_text("{}")
    assert volume_host.content(tmp_path) == seen[-1]


def test_a_packages_own_programs_start_with_the_python_of_a_cell(tmp_path: Path) -> None:
    for name, text in {
        "lint": "#!/build/venv/bin/python\nrun()\n",
        "sh": "#!/bin/sh\n",
        "elf": "\x7fELF #!/build/venv/bin/python\n",
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    before = {name: (tmp_path / name).read_text() for name in ("sh", "elf")}
    volume_host.use_own_python(tmp_path, Path("/build/venv"))
    assert (tmp_path / "lint").read_text() == "#!/usr/bin/env python3\nrun()\n"
    assert (tmp_path / "lint").stat().st_mode & 0o777 == 0o755
    assert {name: (tmp_path / name).read_text() for name in before} == before


# --- in the engine --------------------------------------------------------------------------


@pytest.fixture
def checkout(engine: docker.DockerClient, base: BaseImage, builder_env: BuilderEnv) -> Checkout:
    return Checkout(engine, base, builder_env)


@pytest.fixture
def tiny(tmp_path: Path, checkout: Checkout) -> Iterator[Folder]:
    yield from checkout.with_volume_removed(tiny_folder(tmp_path))


@pytest.mark.docker
def test_a_volume_is_built_once_belongs_to_the_server_and_is_found_again(
    checkout: Checkout, tiny: Folder
) -> None:
    said: list[str] = []
    first = checkout.volume(tiny, said)
    assert len(said) == 2
    assert checkout.volume(tiny, said) == first
    assert len(said) == 2
    verify_volume(checkout.engine, first, checkout.base.id)
    listed = checkout.as_root(
        first.name, "cd /opt/server && stat -c '%n %a %u' . bin/hello server.py && cat bin/hello"
    )
    assert listed == (
        ". 700 10002\nbin/hello 755 10002\nserver.py 644 10002\n#!/bin/sh\necho /var/lib/server\n"
    )


@pytest.mark.docker
def test_two_builders_at_once_make_one_whole_volume(checkout: Checkout, tiny: Folder) -> None:
    said: list[str] = []
    found: list[ServerVolume] = []
    threads = [
        threading.Thread(target=lambda: found.append(checkout.volume(tiny, said))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(set(found)) == 1
    assert len(said) == 2
    verify_volume(checkout.engine, found[0], checkout.base.id)


@pytest.fixture
def rebuilt(checkout: Checkout) -> Iterator[Checkout]:
    """Another checkout, whose base was built from the same recipe to another image."""
    with open_builder(checkout.engine, BuilderSpec(image=checkout.base.id)) as builder:
        image = builder.commit({"fairtrial": "test"})
    yield replace(checkout, base=replace(checkout.base, id=image))
    checkout.engine.api.remove_image(image, force=True)


@pytest.mark.docker
def test_another_checkout_with_the_same_base_recipe_uses_the_same_volume(
    checkout: Checkout, rebuilt: Checkout, tiny: Folder
) -> None:
    said: list[str] = []
    volume = checkout.volume(tiny)
    assert rebuilt.volume(tiny, said) == volume
    assert checkout.volume(tiny, said) == volume
    assert said == []


@pytest.mark.docker
def test_checkouts_with_different_base_recipes_have_a_volume_each(
    checkout: Checkout, rebuilt: Checkout, tiny: Folder
) -> None:
    other = replace(rebuilt, base=replace(rebuilt.base, recipe="0" * 64))
    try:
        assert checkout.volume(tiny).name != other.volume(tiny).name
    finally:
        name = volume_name(tiny, other.base.recipe)
        other.engine.api.remove_volume(name, force=True)


@pytest.mark.docker
def test_a_half_built_volume_and_its_builder_are_not_taken_for_finished(
    checkout: Checkout, tiny: Folder
) -> None:
    name = volume_name(tiny, checkout.base.recipe)
    checkout.engine.api.create_volume(name)
    checkout.as_root(name, "echo half >/opt/server/server.py; echo old >/opt/server/stale")
    killed = checkout.engine.api.create_container(
        checkout.base.id, ["sleep", "60"], name=f"{name}-build", labels={"fairtrial": "builder"}
    )
    assert checkout.volume(tiny).name == name
    listing = checkout.as_root(name, "head -c 2 /opt/server/server.py; ls /opt/server")
    assert listing == "# bin\nserver.py\n"
    with pytest.raises(docker.errors.NotFound):
        checkout.engine.api.inspect_container(killed["Id"])


@pytest.mark.docker
def test_a_changed_byte_in_a_volume_is_refused_with_what_to_do(
    checkout: Checkout, tiny: Folder
) -> None:
    volume = checkout.volume(tiny)
    checkout.as_root(volume.name, "printf '# evil' >>/opt/server/server.py")
    refusal = f"{volume.name}: the volume's content is not what was built\nhint: remove it"
    with pytest.raises(LockError, match=refusal):
        checkout.volume(tiny)


@pytest.mark.docker
def test_a_package_that_is_not_what_its_hash_says_is_refused(
    checkout: Checkout, tiny: Folder
) -> None:
    (tiny.folder / "requirements.txt").write_text(f"six==1.17.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(ServerError, match="DO NOT MATCH THE HASHES") as caught:
        checkout.volume(tiny)
    assert "its packages could not be installed" in caught.value.what
    named = {"label": "fairtrial=builder", "name": volume_name(tiny, checkout.base.recipe)}
    assert checkout.engine.api.containers(all=True, filters=named) == []
    with pytest.raises(ServerError):  # and the wreck is not taken for a volume the next time
        checkout.volume(tiny)


def test_a_full_disk_is_not_held_against_the_server(tmp_path: Path) -> None:
    tiny = tiny_folder(tmp_path)
    said = "ERROR: Could not install packages: [Errno 28] No space left on device\npip ended with 2"
    full = install_failed(tiny, 1, said)
    assert isinstance(full, DiskFullError)
    assert not isinstance(full, ServerError)
    assert "fairtrial clean --all" in full.hint
    assert isinstance(install_failed(tiny, 1, "pip ended with 1"), ServerError)


def test_an_environment_has_the_pip_that_its_python_brings(tmp_path: Path) -> None:
    (tmp_path / "python.txt").write_text(str(Path(sys.executable).parent))
    volume_host.make_venv(tmp_path, tmp_path / "venv")
    pip = (f"{tmp_path}/venv/bin/python", "-m", "pip", "--version")
    said = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    assert f"from {tmp_path}/venv" in said
    # It is compiled when it is imported, and not all of it beforehand.
    assert not (tmp_path / "venv/bin/pip").exists()


@pytest.mark.parametrize("found", [[], ["setuptools-1.whl"]], ids=["nothing", "no pip"])
def test_where_no_wheel_of_pip_lies_venv_installs_its_own(tmp_path: Path, found: list[str]) -> None:
    for name in found:
        (tmp_path / name).touch()
    venv, asked, python = (tmp_path / name for name in ("venv", "asked", "python3"))
    (venv / "lib/python3.11/site-packages").mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$@" >>{asked}\necho {tmp_path}\n')
    python.chmod(0o755)
    (tmp_path / "python.txt").write_text(str(tmp_path))
    volume_host.make_venv(tmp_path, venv)
    assert asked.read_text().splitlines()[-1] == f"-m venv {venv}"


TO_COMPILE = (
    "tree-sitter-cmake==0.7.2.post1"
    " --hash=sha256:64a3751ca67f37112821d67057b8de6ecab5c7e94d6053467a4b78ceab348640\n"
)
"""The source archive of a package that is written in C."""


@pytest.mark.docker
def test_a_package_that_has_to_be_compiled_is_refused_with_what_would_help(
    checkout: Checkout, tiny: Folder
) -> None:
    (tiny.folder / "requirements.txt").write_text(TO_COMPILE)
    with pytest.raises(ServerError) as caught:
        checkout.volume(tiny)
    assert "the base has no compiler" in str(caught.value.hint)
    assert "━" not in caught.value.what


SOURCE_ALONE = (
    "gitignore-parser==0.1.13"
    " --hash=sha256:c7e10c8190accb8ae57fb3711889e73a9c0dbc04d4222b91ace8a4bf64d2f746\n"
)
"""A package that is published as a source archive only, and that wants wheel for its build."""


@pytest.mark.docker
def test_a_package_that_is_published_as_source_alone_is_built_with_tools_of_a_lock(
    checkout: Checkout, tiny: Folder
) -> None:
    (tiny.folder / "requirements.txt").write_text(SOURCE_ALONE)
    volume = checkout.volume(tiny)
    listed = checkout.as_root(volume.name, "ls /opt/server/python")
    assert "gitignore_parser.py" in listed
    assert "wheel" not in listed and "setuptools" not in listed


@pytest.mark.docker
def test_packages_of_a_server_that_asks_for_a_newer_python_are_installed_by_it(
    checkout: Checkout, tmp_path: Path
) -> None:
    server = tiny_folder(tmp_path, python="3.13")
    (server.folder / "requirements.txt").write_text(SOURCE_ALONE)
    for _ in checkout.with_volume_removed(server):
        volume = checkout.volume(server)
        listed = checkout.as_root(volume.name, "ls /opt/server/python/__pycache__")
        assert listed.split() == ["gitignore_parser.cpython-313.pyc"]
        # As a server starts another one, with an environment of its own.
        alone = "env -i /opt/server/python/bin/python3 -I -c 'import gitignore_parser as g, sys;"
        told = checkout.as_root(volume.name, f"{alone} print(g.__file__, sys.version[:4])'")
        assert told.split() == ["/opt/server/python/gitignore_parser.py", "3.13"]


# --- install scripts ----------------------------------------------------------------------------

TELLS = (
    "id -u > told; env | grep -c ^PIP_ >> told; grep NoNewPrivs /proc/self/status >> told;"
    " touch /etc/mine 2>/dev/null && echo root >> told; mkdir -p build/Release/obj.target"
)
"""What an install script can do, told in a file of its package's."""


@contextmanager
def needing(
    package: dict[str, Any], folder: Path, checkout: Checkout, *, breaks_off: int = 0
) -> Iterator[tuple[Checkout, Folder]]:
    """A server that needs the package `teller`, of a registry on this machine."""
    with serving(package, breaks_off=breaks_off) as (address, integrity):
        entry = {"version": "1.0.0", "integrity": integrity, "hasInstallScript": True}
        needs = {"dependencies": {"teller": "1.0.0"}}
        packages = {"": needs, "node_modules/teller": entry}
        lock = {"name": "s", "lockfileVersion": 3, "packages": packages}
        (folder / "package.json").write_text(json.dumps({"private": True, **needs}))
        (folder / "package-lock.json").write_text(json.dumps(lock))
        # A proxy on loopback puts the builder on this machine's network, where the registry is.
        proxies = {"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"}
        indexes = {"NPM_CONFIG_REGISTRY": address, "PIP_INDEX_URL": "http://a:secret@127.0.0.1:1"}
        env = replace(checkout.env, proxies=proxies, indexes=indexes)
        yield replace(checkout, env=env), tiny_folder(folder)


@pytest.mark.docker
@pytest.mark.parametrize("breaks_off", [2, 9])
def test_a_package_whose_download_breaks_off_is_asked_for_again_and_not_for_ever(
    tmp_path: Path, checkout: Checkout, breaks_off: int
) -> None:
    package, said = {"name": "teller", "version": "1.0.0"}, list[str]()
    with needing(package, tmp_path, checkout, breaks_off=breaks_off) as (near, server):
        if breaks_off < MOST_DOWNLOADS:
            volume = near.volume(server, said).name
            assert near.as_root(volume, "ls /opt/server/node_modules") == "teller\n"
        else:
            with pytest.raises(ServerError, match="could not be installed"):
                near.volume(server, said)
        for _ in near.with_volume_removed(server):
            assert sum("a download broke off" in line for line in said) == 2


@pytest.fixture
def scripted(tmp_path: Path, checkout: Checkout) -> Iterator[tuple[Checkout, Folder]]:
    """A server that needs a package whose install script tells what it may do."""
    package = {"name": "teller", "version": "1.0.0", "scripts": {"install": TELLS}}
    with needing(package, tmp_path, checkout) as found:
        yield found


@pytest.mark.docker
def test_an_install_script_is_not_run_unless_package_json_allows_it_and_then_without_rights(
    scripted: tuple[Checkout, Folder],
) -> None:
    checkout, server = scripted
    told = "cd /opt/server/node_modules/teller && ls && cat told; ls -d build/Release/* || true"
    without = checkout.volume(server).name
    assert checkout.as_root(without, f"{told} 2>/dev/null") == "index.js\npackage.json\n"
    package = server.folder / "package.json"
    package.write_text(
        json.dumps({**json.loads(package.read_text()), "allowScripts": {"teller": True}})
    )
    with_scripts = checkout.volume(server).name
    assert with_scripts != without
    said = checkout.as_root(with_scripts, f"{told} 2>/dev/null")
    assert said == "build\nindex.js\npackage.json\ntold\n10002\n0\nNoNewPrivs:\t1\n"
    for name in (without, with_scripts):
        checkout.engine.api.remove_volume(name, force=True)


def test_what_package_json_allows_is_read_as_npm_reads_it(tmp_path: Path) -> None:
    package = tmp_path / "package.json"
    package.write_text('{"dependencies": {}}')
    assert volume_host.scripts_allowed(package) == []
    allowed = {"a": True, "@b/c": True, "@d/e@1.2.0": True, "f@2": True, "g": False}
    package.write_text(json.dumps({"allowScripts": allowed}))
    assert volume_host.scripts_allowed(package) == ["a", "@b/c", "@d/e", "f"]
