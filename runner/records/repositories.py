"""Where a repository comes from, and the pin that holds it."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from runner.records.record import CommitSha, Count, Record, Sha256

_LABEL = re.compile(r"[a-z0-9][a-z0-9._-]*")
PLAIN = "small letters, digits, dots, dashes and underscores"
"""No capitals: a label begins a scenario's id, and some disks hold `Shop` and `shop` as one."""
LOCAL_SCHEME = "local:"
"""A folder of the user's, by a label: where it is stands in no tracked file."""


def is_plain_name(text: str) -> bool:
    return _LABEL.fullmatch(text) is not None


def plain_name(text: str) -> str:
    """`hikaricp` of `HikariCP`, `my-shop` of `my shop!`; empty if nothing is left."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")


class GitSource(Record):
    """A commit of a git repository."""

    kind: Literal["git"]
    url: str
    """Anything `git fetch` takes; a local path is fine, `local:<label>` is private."""
    commit: CommitSha
    """Full SHA: a branch or tag can move."""

    @field_validator("url")
    @classmethod
    def _no_option_and_no_password(cls, url: str) -> str:
        if not url or url.startswith("-"):
            raise ValueError("a URL is not empty and does not begin with a dash")
        # e.g. https://user:secret@host/x
        if re.match(r"[a-z+]+://[^/@]*:[^/@]*@", url, re.IGNORECASE):
            raise ValueError(
                "a password in a URL would end up in locks and reports;"
                " give it to git's credential helper"
            )
        return url

    @field_validator("url")
    @classmethod
    def _plain_label(cls, url: str) -> str:
        if url.startswith(LOCAL_SCHEME) and not _LABEL.fullmatch(url.removeprefix(LOCAL_SCHEME)):
            raise ValueError(f"a label is a plain name, not a path: {LOCAL_SCHEME}shop")
        return url

    @property
    def label(self) -> str:
        return f"git:{self.url}@{self.commit}"

    @property
    def local_label(self) -> str | None:
        """`shop` of `local:shop`; None for every other URL."""
        if not self.url.startswith(LOCAL_SCHEME):
            return None
        return self.url.removeprefix(LOCAL_SCHEME)


class PypiSource(Record):
    """A source archive on a Python package index."""

    kind: Literal["pypi"]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")]
    version: Annotated[str, Field(pattern=r"^[0-9][A-Za-z0-9.!+]*$")]
    sha256: Sha256
    """Of the sdist."""

    @property
    def label(self) -> str:
        return f"pypi:{self.name}=={self.version}"


class NpmSource(Record):
    """A package's tarball on an npm registry."""

    kind: Literal["npm"]
    name: Annotated[
        str, Field(pattern=r"^(@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$")
    ]
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+([+-][A-Za-z0-9.+-]+)?$")]
    """Exact: a range or a tag can move."""
    integrity: Annotated[str, Field(pattern=r"^sha512-[A-Za-z0-9+/]{86}==$")]
    """Subresource integrity of the tarball, as npm records it."""

    @property
    def label(self) -> str:
        return f"npm:{self.name}@{self.version}"


Source = Annotated[GitSource | PypiSource | NpmSource, Field(discriminator="kind")]


class LocalRepositories(Record):
    """`.fairtrial-local.yaml`: where this machine has what is called `local:<label>`."""

    repositories: dict[str, str] = Field(default_factory=dict)
    """Label -> path of a clone, or of a folder."""


class RepoPin(Record):
    """What `locks/repos.lock` holds per source, and what it must be on every machine."""

    commit: CommitSha
    tree: CommitSha
    files: Count
