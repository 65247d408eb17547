"""What a wheel carries beside the code: scenarios/, images/, locks/ and the Dockerfile, by digest.

Hatchling runs it (pyproject.toml). Nothing else may import it: an installed package has no builder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TOPS = ("Dockerfile", "scenarios", "images", "locks")
SHIPPED = "runner/shipped"
"""Where runner.project looks for it."""
NOT_SHIPPED = "locks/replies"
"""Only a checkout's judges are accepted anew."""


class ShippedFiles(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # An editable install reads the checkout itself: copies would grow stale beside it.
        if version == "editable":
            return
        root = Path(self.root)
        digests = {name: _digest(root / name) for name in shipped_files(root)}
        included = {str(root / name): f"{SHIPPED}/{name}" for name in digests}
        self._manifest.parent.mkdir(parents=True, exist_ok=True)
        self._manifest.write_text(json.dumps(digests, indent=0) + "\n", encoding="utf-8")
        included[str(self._manifest)] = f"{SHIPPED}/MANIFEST"
        build_data["force_include"].update(included)

    def finalize(self, *_: Any) -> None:
        self._manifest.unlink(missing_ok=True)

    @property
    def _manifest(self) -> Path:
        return Path(self.directory) / "MANIFEST"


def shipped_files(root: Path) -> Iterator[str]:
    """Paths from the top, sorted."""
    for top in TOPS:
        for path in sorted([root / top, *(root / top).rglob("*")]):
            name = path.relative_to(root)
            hidden = any(part.startswith((".", "__")) for part in name.parts)
            if path.is_file() and not hidden and not name.is_relative_to(NOT_SHIPPED):
                yield name.as_posix()


def _digest(path: Path) -> str:
    # With LF line ends, as every lock of ours digests a file.
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
