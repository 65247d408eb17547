"""Builder containers: the only ones that have network, and what the host lends them for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

CA_INSIDE = "/etc/ssl/certs/ca-certificates.crt"
_CA_NAMES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_CAFILE",
)
_PROXY_NAMES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
_INDEX_NAMES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "NPM_CONFIG_REGISTRY",
)


@dataclass(frozen=True, kw_only=True)
class BuilderEnv:
    """What the host's network needs of a *builder* container: proxies, package indexes and the host's CA bundle.

    People behind a TLS-intercepting proxy cannot install anything without them, and no cell may see them. Made once by cli.py:
    `BuilderEnv.from_mapping(os.environ)`. A builder container is run with `environment=env.variables()`, `volumes=env.volumes()`
    and `network_mode=env.network`; an image build gets `buildargs=env.proxies` alone, which the engine keeps out of the image's history.
    """

    proxies: dict[str, str]
    """http_proxy, https_proxy, no_proxy, …, in both spellings."""
    indexes: dict[str, str]
    """The user's own package indexes, as pip, uv and npm name them."""
    ca_bundle: Path | None
    """PEM file on the host; None where it has none."""

    @classmethod
    def from_mapping(
        cls, environ: Mapping[str, str], *, system_bundle: Path = Path(CA_INSIDE)
    ) -> BuilderEnv:
        """The first CA variable that names a file wins, then the system's bundle."""
        proxies: dict[str, str] = {}
        for name in _PROXY_NAMES:
            if value := environ.get(name) or environ.get(name.upper()):
                proxies |= {name: value, name.upper(): value}
        named = (Path(environ[name]) for name in _CA_NAMES if environ.get(name))
        bundle = next((path.resolve() for path in (*named, system_bundle) if path.is_file()), None)
        return cls(
            proxies=proxies,
            indexes={n: environ[n] for n in _INDEX_NAMES if environ.get(n)},
            ca_bundle=bundle,
        )

    def variables(self) -> dict[str, str]:
        """For a builder container. Never for a cell."""
        trust = (
            {**dict.fromkeys(_CA_NAMES, CA_INSIDE), "UV_SYSTEM_CERTS": "true"}
            if self.ca_bundle
            else {}
        )
        return {**self.proxies, **self.indexes, **trust}

    def volumes(self) -> dict[str, dict[str, str]]:
        """The CA bundle, read-only, over the builder's own; in docker-py's shape."""
        return {str(self.ca_bundle): {"bind": CA_INSIDE, "mode": "ro"}} if self.ca_bundle else {}

    @property
    def network(self) -> str:
        """`host` where a proxy listens on this machine's loopback: from a bridge network nothing answers there."""
        hosts = {
            urlsplit(url).hostname
            for name, url in self.proxies.items()
            if "no_proxy" not in name.lower()
        }
        return "host" if hosts & {"localhost", "127.0.0.1", "::1"} else "bridge"
