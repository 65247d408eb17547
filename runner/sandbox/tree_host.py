"""Runs inside a builder on a workspace image: fills what is lent to a server's own container.

Its source is handed to `python3 -I -c` on the container's own Python, so it stands alone: standard
library only, nothing imported from the project.

`tree SOURCE ROOT PRIVATE…` makes ROOT what SOURCE is, with an empty folder for each private mount.
`tools ROOT` puts the program there that ends another at its deadline, and what that needs.
Both write nothing if ROOT is right, and end with 1 if it cannot be made so.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

LOADER = "ld.so"
TIMEOUT = "timeout"


def described(root: Path) -> dict[str, str]:
    """Path -> mode, owner and bytes (a link's target) of everything below, and of the root."""
    found = {".": describe(root)}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            found[os.fsdecode(path.relative_to(root))] = describe(path)
    return found


def describe(path: Path) -> str:
    status = path.lstat()
    return json.dumps((status.st_mode, status.st_uid, status.st_gid, bytes_or_target(path)))


def bytes_or_target(path: Path) -> str:
    if path.is_symlink():
        return str(path.readlink())
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


def wanted_tree(source: Path, private: list[str]) -> dict[str, str]:
    """The source, and a folder like its own top for each mount that it has no folder for."""
    wanted = described(source)
    for path in private:
        for place in (PurePosixPath(path), *PurePosixPath(path).parents):
            wanted.setdefault(str(place), wanted["."])
    return wanted


def fill_tree(source: Path, root: Path, private: list[str]) -> bool:
    """Is it right now?"""
    wanted = wanted_tree(source, private)
    if described(root) == wanted:
        return True
    for path in root.iterdir():
        remove(path)
    subprocess.run(["cp", "-a", f"{source}/.", str(root)], check=True)  # noqa: S603, S607 - ours
    for name in sorted(wanted.keys() - described(root).keys()):
        (root / name).mkdir()
        shutil.copystat(source, root / name)
    # What is vouched for must be on the disk.
    os.sync()
    return described(root) == wanted


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def fill_tools(root: Path) -> bool:
    for name, source in tools().items():
        place = root / name
        # Written over, a program that runs meanwhile would end.
        if not place.exists() or not filecmp.cmp(source, place, shallow=False):
            shutil.copy(source, f"{place}.new")
            Path(f"{place}.new").replace(place)
    os.sync()
    return True


def tools() -> dict[str, str]:
    """Name -> where it is here. With its own loader it runs in an image that has no libraries."""
    program = shutil.which(TIMEOUT)
    if program is None:
        sys.exit(f"there is no {TIMEOUT} in the base image")
    listed = subprocess.run(  # noqa: S603 - our own program
        ["ldd", program],  # noqa: S607 - the base image's own
        check=True,
        capture_output=True,
        text=True,
    )
    libraries = [word for word in listed.stdout.split() if word.startswith("/")]
    found = {TIMEOUT: program}
    for path in libraries:
        name = Path(path).name
        found[LOADER if name.startswith("ld-linux") else name] = path
    return found


def main(argv: list[str]) -> None:
    verb, *paths = argv
    if verb == "tree":
        is_right = fill_tree(Path(paths[0]), Path(paths[1]), paths[2:])
    else:
        is_right = fill_tools(Path(paths[0]))
    if not is_right:
        sys.exit("what was written is not what was to be")


if __name__ == "__main__":
    main(sys.argv[1:])
