"""server.yaml, and the card that `fairtrial server check` fills in."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from runner.records.record import Count, Name, Record, Seconds, Sha256, unless_none

Python = Literal["3.11", "3.13"]
"""Of the base image: Debian's own, and a newer one for packages that the first does not run."""


class McpCall(Record):
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class WarmUp(Record):
    """One step that makes a server ready, run in every cell before the agent.

    A shell command as the user `server`, or an MCP call.
    """

    shell: str | None = None
    call: McpCall | None = None
    timeout_sec: Annotated[int, Field(ge=1, le=3600)] = 300

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.shell is None) == (self.call is None):
            raise ValueError("a warm-up step is either `shell` or `call`")
        return self


class Canary(Record):
    """One call whose result must contain a text: proof that the server sees the repository.

    A server that lacks something offline often says nothing of it (isError false, an empty list).
    """

    repository: str
    """Label of the source it is written for, e.g. `pypi:flask==3.1.2`; `*` for any.

    One for any may name `{known.symbol}` and `{known.path}`: of a name that is known to be there,
    in repositories of which one is known."""
    languages: tuple[str, ...] | None = unless_none()
    """Of the repositories that it fits; None for any."""
    call: McpCall
    contains: Annotated[str, Field(min_length=1)]
    line: Annotated[int, Field(ge=1)] | None = None
    """The 1-based line that `contains` shows, in whatever base the server counts.

    A health probe that passes then measures the server's line base.
    """
    timeout_sec: Annotated[int, Field(ge=1, le=600)] = 60


class ServerSpec(Record):
    """images/servers/<name>/server.yaml.

    `{workspace}`, `{install}` and `{state}` are replaced in command, env, files, warm-up and
    health probes. A server that is an image has no `{install}`. In the arguments of a probe, and of
    a warm-up call behind the first, `{answer.KEY}` is what a warm-up call of the same session
    answered under that key, the last that had it: `{answer.repo_id}` of `{"repo_id": "7f3a"}`,
    `{answer.repo.id}` of an object in the answer, `{answer.repo_id}` of a text with
    `Repo ID: 7f3a`, `{answer.text}` of one that is one word.
    """

    name: Name
    title: str
    version: str
    """The package's own: `serverInfo.version` is often the SDK's."""
    licence: str
    homepage: str
    notes: tuple[str, ...] = ()
    """Traps that a reader of the report should know."""
    substitutes: tuple[str, ...] = ()
    """What it is given here that its users' is not, a sentence each: every report says so."""
    image: str | None = None
    """NAME@sha256:… of an image that the server is, instead of packages and files."""
    http: Annotated[str, Field(pattern=r"^(\d{1,5}(/\S*)?)?$")] | None = None
    """Of an image that speaks streamable HTTP: `PORT[/PATH]`, or empty for the port it opens."""
    command: tuple[str, ...] = ()
    """Of an image: arguments after what it runs by itself."""
    env: dict[str, str] = Field(default_factory=dict)
    python: Python = "3.11"
    """Its packages are locked and installed for it, and it is the server's `python3`."""
    files: dict[str, str] = Field(default_factory=dict)
    """Path under {install} -> text: wrappers and configuration, written at build time."""
    private: tuple[str, ...] = ()
    """Directories in the workspace that the server insists on writing.

    Each becomes a private mount (tmpfs, mode 0700).
    """
    warm_up: tuple[WarmUp, ...] = ()
    canaries: Annotated[tuple[Canary, ...], Field(min_length=1)]
    line_base: Annotated[int, Field(ge=0, le=1)]
    """The first line's number in its results; 0-based servers invite off-by-one citations."""
    initialize_timeout_sec: Annotated[int, Field(ge=1, le=600)] = 90
    call_timeout_sec: Annotated[int, Field(ge=1, le=3600)] = 120
    ready_timeout_sec: Annotated[int, Field(ge=1, le=3600)] = 60
    """How long the health probe may fail until its first pass: an index built in the background."""

    @model_validator(mode="after")
    def _can_be_started(self) -> Self:
        if not self.command and self.image is None:
            raise ValueError("command: nothing says how it is started")
        return self


class ServerCard(Record):
    """What `fairtrial server check` found: the server in a cell, on one repository, no network."""

    name: Name
    version: str
    licence: str
    server_info: str
    """Name and version as `initialize` gives them."""
    protocol: str
    tools: tuple[str, ...]
    schema_chars: Count
    """Names, descriptions and input schemas, as the model gets them."""
    schema_tokens: Count
    """Estimated: characters / 4."""
    instructions_chars: Count
    initialize_sec: Seconds
    warm_up_sec: Seconds
    """Indexing, if the server does any."""
    ready_sec: Seconds
    """From the canary's first call until its third pass in a row, or until it was given up."""
    answer_sec: Seconds
    """The canary's last call."""
    peak_memory_mb: float | None
    """Of the whole container, its tmpfs included."""
    state_mb: float | None
    """The server's own directory and private mounts, after the health probe; None for an image."""
    install_mb: float
    install_digest: Sha256
    locks: tuple[str, ...] = ()
    """What each of its locks installs, and whose lock it looks like; empty if nobody looked."""
    files_written: Count | None
    """None for an image, into whose container nobody can look."""
    paths_written: tuple[str, ...]
    """The first of them, sorted."""
    network_attempts: Count
    """Packets and connections that had no route.

    One name looked up is two or more; IPv6 may go unseen.
    """
    stray_lines: Count
    """Lines on stdout that are not JSON-RPC."""
    stray: tuple[str, ...]
    line_base: int
    """As declared."""
    line_base_measured: int | None
    """None if the health probe shows no line, or failed."""
    repository: str
    canary_passed: bool
    """Three times in a row, with no failure after a pass."""
    canary_tries: Count
    canary_passes: Count
    """Fewer than three, but more than none, is a health probe that flaps."""
    canary_wanted: str
    canary_text: str
    """The first characters of what came."""
