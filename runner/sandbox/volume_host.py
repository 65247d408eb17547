"""Runs inside the builder container, on its own Python: fills a server's install volume, and tells what is in one.

Its source is handed to `python3 -I -c`, so it stands alone: standard library only, nothing imported from the project.
`build ROOT JOB` installs what the folder JOB holds (requirements.txt, package-lock.json, files.json) into ROOT; `inspect ROOT`
prints one JSON line {"content", "bytes", "marker"}. The marker is written last: a volume without one is half-built.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

MARKER = ".fairtrial.json"
SERVER_UID = 10002


def entries(root: Path) -> list[Path]:
    """Every file, link and folder under `root`, the marker apart, in one order on every machine."""
    found = [
        Path(folder, name)
        for folder, folders, files in os.walk(root)
        for name in (*folders, *files)
    ]
    return sorted(path for path in found if path != root / MARKER)


def content(root: Path) -> tuple[str, int]:
    """SHA256 over each entry's path, mode, owner and bytes (a link's target), and the sum of the bytes."""
    digest, size = hashlib.sha256(), 0
    for path in (root, *entries(root)):
        status = path.lstat()
        what = str(path.readlink()) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                what = hashlib.file_digest(file, "sha256").hexdigest()
            size += status.st_size
        line = (
            os.fsdecode(path.relative_to(root)),
            status.st_mode,
            status.st_uid,
            status.st_gid,
            what,
        )
        digest.update(json.dumps(line).encode() + b"\n")
    return digest.hexdigest(), size


def run(*argv: str, cwd: Path) -> None:
    print("$", *argv, flush=True)  # noqa: T201 - the builder's log
    done = subprocess.run(argv, cwd=cwd, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - our own lists
    if done.returncode:
        sys.exit(f"{argv[0]} ended with {done.returncode}")


def install_python(root: Path, job: Path) -> None:
    target, venv = str(root / "python"), job / "venv"
    run("python3", "-m", "venv", str(venv), cwd=job)  # pip comes with it: the base image has none
    # --no-deps: the lock is complete, and a package that is not in it must not slip in. Nor may a build's tools: without isolation the few
    # source archives are built with what the base image holds, and fail where that does not do.
    run(
        str(venv / "bin/python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--root-user-action=ignore",
        "--require-hashes",
        "--no-deps",
        "--prefer-binary",
        "--no-build-isolation",
        "--no-compile",
        "--target",
        target,
        "-r",
        "requirements.txt",
        cwd=job,
    )
    # Without byte code every start would compile the server's packages again: the volume is read-only in a cell.
    compileall = (
        "python3",
        "-m",
        "compileall",
        "-q",
        "-j0",
        "--invalidation-mode",
        "unchecked-hash",
        target,
    )
    subprocess.run(compileall, check=False, stdout=subprocess.DEVNULL)  # noqa: S603 - some packages ship files that no Python compiles


def install_node(root: Path, job: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(job / name, root / name)
    run(
        "npm",
        "ci",
        "--ignore-scripts",
        "--omit=dev",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
        cwd=root,
    )
    for name in ("package.json", "package-lock.json", "node_modules/.package-lock.json"):
        (root / name).unlink(missing_ok=True)


def write_files(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def hand_over(root: Path) -> None:
    """To the server's user alone: the agent's shell must not read what the server brings."""
    for path in (root, *entries(root)):
        os.chown(path, SERVER_UID, SERVER_UID, follow_symlinks=False)
    root.chmod(0o700)


def build(root: Path, job: Path) -> None:
    if (job / "requirements.txt").exists():
        install_python(root, job)
    if (job / "package-lock.json").exists():
        install_node(root, job)
    write_files(root, json.loads((job / "files.json").read_text(encoding="utf-8")))
    hand_over(root)
    digest, size = content(root)
    os.sync()  # the marker must not reach the disk before what it vouches for
    partial = root / f"{MARKER}.partial"
    partial.write_text(json.dumps({"content": digest, "bytes": size}), encoding="utf-8")
    os.chown(partial, SERVER_UID, SERVER_UID)
    partial.replace(root / MARKER)


def inspect(root: Path) -> dict[str, Any]:
    marker = root / MARKER
    digest, size = content(root)
    return {
        "content": digest,
        "bytes": size,
        "marker": json.loads(marker.read_text(encoding="utf-8")) if marker.exists() else None,
    }


def main(argv: list[str]) -> None:
    if argv[0] == "build":
        build(Path(argv[1]), Path(argv[2]))
    else:
        print(json.dumps(inspect(Path(argv[1]))))  # noqa: T201 - the answer


if __name__ == "__main__":
    main(sys.argv[1:])
