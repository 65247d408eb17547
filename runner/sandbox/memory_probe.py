"""Runs inside the container, as a user of its own: what became of the cell's memory.

The source is handed to `python3 -I -c`, so it stands alone: standard library only, nothing imported
from the project. Its arguments are a user's number, a place in memory that is this user's alone,
and places that it shares; it prints one JSON object {"kills", "at_limit", "held_bytes"}.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

V1 = "/sys/fs/cgroup/memory"
V2 = "/sys/fs/cgroup"
ENTRIES = 200_000
"""Files looked at: the agent may have made millions."""


def main() -> None:
    user, own, *shared = sys.argv[1:]
    uid = int(user)
    held = resident_bytes(uid) + used_bytes(own) + written_bytes(uid, shared)
    print(json.dumps({**out_of_memory(), "held_bytes": held}))  # noqa: T201 - its only way out


# --- what the kernel counted --------------------------------------------------------------------


def out_of_memory() -> dict[str, int]:
    """`kills`: processes ended for want of memory. `at_limit`: was the container's limit reached?

    Zeros if its cgroup does not say.
    """
    first = counters(f"{V1}/memory.oom_control")
    if first:
        # Not memory.failcnt: some kernels leave it at 0 when they kill.
        peak, limit = f"{V1}/memory.max_usage_in_bytes", f"{V1}/memory.limit_in_bytes"
        at_limit = number_in(peak) >= number_in(limit)
        return {"kills": first.get("oom_kill", 0), "at_limit": at_limit}
    second = counters(f"{V2}/memory.events")
    return {"kills": second.get("oom_kill", 0), "at_limit": second.get("oom", 0) > 0}


def counters(path: str) -> dict[str, int]:
    """A file of lines like `oom_kill 3`."""
    found = {}
    for line in text_of(path).splitlines():
        name, _, value = line.partition(" ")
        if value.isdigit():
            found[name] = int(value)
    return found


def number_in(path: str) -> int:
    """0 if there is none."""
    text = text_of(path).strip()
    return int(text) if text.isdigit() else 0


def text_of(path: str) -> str:
    """Empty if it cannot be read: a process may end while it is looked at."""
    # pathlib would cost the time of its import, while a cell waits for its verdict.
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()
    return ""


# --- what a user holds --------------------------------------------------------------------------


def resident_bytes(uid: int) -> int:
    """Of the user's processes."""
    total = 0
    for name in os.listdir("/proc"):  # noqa: PTH208 - see text_of
        status = {}
        for line in text_of(f"/proc/{name}/status").splitlines():
            key, _, value = line.partition(":")
            status[key] = value.split()
        if status.get("Uid", [])[:1] == [str(uid)]:
            kilobytes = status.get("VmRSS", ["0"])[0]
            total += int(kilobytes) * 1024
    return total


def used_bytes(place: str) -> int:
    """Of a file system, whose folders need not be readable for that."""
    with contextlib.suppress(OSError):
        status = os.statvfs(place)
        return (status.f_blocks - status.f_bfree) * status.f_frsize
    return 0


def written_bytes(uid: int, places: list[str]) -> int:
    """What those of the user's files take that can be seen."""
    total = 0
    seen = 0
    for place in places:
        for folder, _, names in os.walk(place):
            for name in names:
                seen += 1
                if seen > ENTRIES:
                    return total
                with contextlib.suppress(OSError):
                    status = os.lstat(f"{folder}/{name}")
                    if status.st_uid == uid:
                        total += status.st_blocks * 512
    return total


if __name__ == "__main__":
    main()
