"""Which package indexes the user has: by variables, else as pip's own configuration says.

Only `pip config` and its files know of many mirrors. uv and npm do not read them, so a builder
behind one would ask the public registry in vain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error
from pathlib import Path

_NAMES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "NPM_CONFIG_REGISTRY",
)
_SYSTEM = Path("/etc/pip.conf")


def index_variables(environ: Mapping[str, str], *, system: Path = _SYSTEM) -> dict[str, str]:
    """As pip, uv and npm name them. What the user set for uv stays; else uv gets pip's index."""
    found = {name: environ[name] for name in _NAMES if environ.get(name)}
    if "UV_DEFAULT_INDEX" in found or "UV_INDEX_URL" in found:
        return found
    index = found.get("PIP_INDEX_URL") or _configured(environ, system)
    return {**found, "PIP_INDEX_URL": index, "UV_DEFAULT_INDEX": index} if index else found


def _configured(environ: Mapping[str, str], system: Path) -> str:
    """The last file that names one wins, as pip has it; empty if none does."""
    index = ""
    for path in _files(environ, system):
        parser = ConfigParser(interpolation=None)
        try:
            parser.read(path, encoding="utf-8")
        except (Error, UnicodeDecodeError):
            # pip itself says what is wrong with it, whenever it is run.
            continue
        for section in ("global", "install"):
            index = parser.get(section, "index-url", fallback=index).strip()
    return index


def _files(environ: Mapping[str, str], system: Path) -> Iterator[Path]:
    """Where pip looks on Linux and macOS, the strongest last."""
    named = environ.get("PIP_CONFIG_FILE")
    # pip's own way to say that it is to read none.
    if named == "/dev/null":
        return
    yield system
    if home := environ.get("HOME"):
        folder = Path(environ.get("XDG_CONFIG_HOME") or Path(home) / ".config")
        yield Path(home) / "Library" / "Application Support" / "pip" / "pip.conf"
        yield Path(home) / ".pip" / "pip.conf"
        yield folder / "pip" / "pip.conf"
    if prefix := environ.get("VIRTUAL_ENV"):
        yield Path(prefix) / "pip.conf"
    if named:
        yield Path(named)
