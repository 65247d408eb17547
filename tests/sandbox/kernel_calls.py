"""What containers ask the kernel for in tests, and what they must not get of it."""

from __future__ import annotations

import json
import platform
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Name, number on x86_64, number on aarch64 (0: not there). From the kernel's unistd.h.
_TABLE = """
io_uring_setup 425 425
io_uring_enter 426 426
io_uring_register 427 427
add_key 248 217
request_key 249 218
keyctl 250 219
userfaultfd 323 282
bpf 321 280
perf_event_open 298 241
setns 308 268
mount 165 40
umount2 166 39
pivot_root 155 41
open_tree 428 428
move_mount 429 429
fsopen 430 430
fsconfig 431 431
fsmount 432 432
fspick 433 433
mount_setattr 442 442
name_to_handle_at 303 264
open_by_handle_at 304 265
fanotify_init 300 262
kcmp 312 272
pidfd_getfd 438 438
process_madvise 440 440
mbind 237 235
set_mempolicy 238 237
move_pages 279 239
migrate_pages 256 238
memfd_secret 447 447
init_module 175 105
finit_module 313 273
delete_module 176 106
kexec_load 246 104
kexec_file_load 320 294
reboot 169 142
swapon 167 224
swapoff 168 225
syslog 103 116
acct 163 89
quotactl 179 60
settimeofday 164 170
clock_settime 227 112
adjtimex 159 171
sethostname 170 161
setdomainname 171 162
vhangup 153 58
lookup_dcookie 212 18
chroot 161 51
iopl 172 0
ioperm 173 0
modify_ldt 154 0
socket 41 198
socketpair 53 199
clone 56 220
clone3 435 435
personality 135 92
unshare 272 97
"""
_COLUMN = {"x86_64": 1, "aarch64": 2}[platform.machine().replace("arm64", "aarch64")]
NUMBERS = {
    row.split()[0]: int(row.split()[_COLUMN])
    for row in _TABLE.strip().splitlines()
    if row.split()[_COLUMN] != "0"
}
_SOURCE = (Path(__file__).parent / "kernel_probe.py.txt").read_text(encoding="utf-8")
PROBE = f"NUMBERS = {NUMBERS!r}\n{_SOURCE}"
"""A Python program for the container."""

OPEN_FAMILIES = {"1": "AF_UNIX", "2": "AF_INET", "10": "AF_INET6", "16": "AF_NETLINK"}


def require_refused(printed: str) -> dict[str, Any]:
    """Fails with whatever the kernel gave that the profile refuses; returns what PROBE found."""
    found: dict[str, Any] = json.loads(printed)
    assert {name: said for name, said in _calls(found) if said != "EPERM"} == {}
    # Programs take this one for a kernel without the family, and go on.
    assert {name: said for name, said in _sockets(found) if said != "EAFNOSUPPORT"} == {}
    assert found["clone3"] == "ENOSYS"
    for other in ("32 bit", "x32"):
        assert found.get(other, signal.SIGSYS) == signal.SIGSYS, other
    return found


def _calls(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each call that the profile refuses, and what the kernel answered."""
    yield from found["calls"].items()
    yield "personality", found["personality"]
    yield from ((f"pair {key}", said) for key, said in found["pairs"].items() if key != "1")
    for part in ("clone", "unshare"):
        yield from ((f"{part} {kind}", said) for kind, said in found[part].items())


def _sockets(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each socket that the profile refuses, and what the kernel answered."""
    for family, answers in found["families"].items():
        if family not in OPEN_FAMILIES:
            yield from ((f"family {family} {kind}", said) for kind, said in answers.items())
    for part, allowed in (("in the upper half", ""), ("netlink", "0")):
        yield from ((f"{part} {key}", said) for key, said in found[part].items() if key != allowed)
