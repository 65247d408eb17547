"""A server over a copy of the repository: nobody outside can tell the copy from it.

In a cell: see trying/test_searching.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.sandbox import writable_copy
from runner.sandbox.writable_copy import told
from tests.helpers import PATIENCE_SEC

HERE = b"/var/lib/server/copy"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b'{"path": "/workspace"}', b'{"path": "/var/lib/server/copy"}'),
        (b'"file:///workspace/src/a.py"', b'"file:///var/lib/server/copy/src/a.py"'),
        (rb'"\/workspace\/a.py"', rb'"/var/lib/server/copy\/a.py"'),
        (b'"/workspaces/a", "/my/workspace.d"', b'"/workspaces/a", "/my/workspace.d"'),
        (b'"x/workspace"', b'"x/workspace"'),
    ],
)
def test_the_repositorys_place_is_told_as_the_copys_and_no_other(
    given: bytes, expected: bytes
) -> None:
    assert told(given, b"/workspace", HERE) == expected


def test_what_is_told_there_and_back_is_what_was_said() -> None:
    said = b'{"text": "/workspace/src/a.py:3: x = \'/workspace\'\\n"}'
    assert told(told(said, b"/workspace", HERE), HERE, b"/workspace") == said


def test_it_ends_as_its_server_ends_while_somebody_still_holds_its_stdin(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    script = "import os, sys; print(os.getcwd(), *sys.argv[1:], os.environ['AT']); sys.exit(3)"
    command = [
        sys.executable,
        writable_copy.__file__,
        sys.executable,
        "-c",
        script,
        "/workspace/src",
    ]
    env = {**os.environ, "HOME": str(tmp_path), "AT": "/workspace/x"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        assert process.wait(timeout=PATIENCE_SEC) == 3
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read() == b"/workspace /workspace/src /workspace/x\n"
        assert process.stderr.read() == b""
