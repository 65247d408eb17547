"""One way to start a server in the sandbox, and how far it went."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import mcp_types

from runner.authoring.onboarding.canaries import CanarySearch, FoundCanary
from runner.authoring.onboarding.installing import Candidate
from runner.authoring.onboarding.launches import Launch, launches_in_help
from runner.authoring.onboarding.missing import IS_REQUIRED, SDK_LACKS
from runner.authoring.onboarding.scripts import LACKS
from runner.authoring.onboarding.with_packages import programs_lacked
from runner.records import ServerSpec, WarmUp

_BROKEN = re.compile(
    r"ModuleNotFoundError|ImportError|cannot import name|SyntaxError"
    rf"|AttributeError: (?:module|'\w+' object)|{SDK_LACKS}"
    r"|Cannot find (?:module|package)|ERR_MODULE|ERR_UNSUPPORTED|ERR_PACKAGE|ERR_REQUIRE"
    # Its own words for an import that failed, whatever that was.
    rf"|{IS_REQUIRED}\b"
)
_NODE_FILE = re.compile(r"Cannot find module '(?P<path>\.{0,2}/[^'\n]+)'")
_ASKED_BY = re.compile(r"(?:Require stack:\s+- |imported from )(?P<path>/\S+)")
_PYTHON_PART = re.compile(r"No module named '(?P<package>\w+)\.[\w.]+'")
BREAKS_PROTOCOL = "the server broke the protocol"
_FAILS_INSIDE = re.compile(r"\b(?:TypeError|NameError|Pydantic\w*Error): ")
"""What a newer pydantic says of models that an older one took; or one that misses an argument."""
_TO_INSTALL = re.compile(r"\b(?:uv (?:pip install|add)|pip3? install|npm (?:i|install)) ")
USAGE = re.compile(
    r"usage|(?:unknown|unrecognized|no such) (?:option|argument|command)|\[options\]|display help",
    re.IGNORECASE,
)
_OFFLINE = re.compile(
    r"ConnectionError|ConnectError|getaddrinfo|EAI_AGAIN|ENOTFOUND|ENETUNREACH|Max retries exceeded"
    r"|[Nn]ame or service not known|[Nn]ame resolution|fetch failed"
)


@dataclass(frozen=True, kw_only=True)
class StartAttempt:
    """One way to start it, and how far that went."""

    launch: Launch
    private: tuple[str, ...] = ()
    tools: tuple[mcp_types.Tool, ...] = ()
    """Empty if it did not start."""
    warm_up: tuple[WarmUp, ...] = ()
    canary: FoundCanary | None = None
    problem: str = ""
    """Why it did not start, or was lost."""
    said: str = ""
    """All that it said then."""
    stderr: str = ""
    """The end of it."""
    search: CanarySearch = field(default_factory=CanarySearch)
    network_attempts: int = 0
    stray_lines: int = 0
    wants_private: tuple[str, ...] = ()
    writes_where_it_is: bool = False
    """A file in the folder it is started in, which no private folder could hold."""
    is_refused: bool = False
    """It may not write something, and no folder of its own would hold it."""
    listens: bool = False
    """It waits at a port, and says so; over stdin nobody would ever answer."""

    @property
    def shown_by(self) -> Launch | None:
        """How it was started; None if it showed nothing so."""
        return self.launch if self.canary is not None else None

    @property
    def is_broken(self) -> bool:
        """No argument helps a program whose own modules do not load."""
        return not self.started and bool(_BROKEN.search(self.problem))

    @property
    def may_be_too_old(self) -> bool:
        """It fails inside Python code, in every way that was tried, or when it is asked.

        Or its schemas are no schemas: a newer library writes them otherwise.
        """
        # Of a long one only the end is kept, without its first line.
        is_python = re.search(r"File \".+\", line \d+|❱ +\d+ ", self.said)
        is_unstarted = not self.started and is_python and _FAILS_INSIDE.search(self.problem)
        is_broken = self.is_broken or self.breaks_when_asked or self.is_garbled
        return is_broken or bool(is_unstarted)

    def lacks_own_file(self, package: str) -> bool:
        """A file of the package's own is not there: no other package would bring it.

        `import "./Utils.js"` of a `utils.js` works where letters' case does not count.
        """
        said = f"{self.problem}\n{self.said}"
        part = _PYTHON_PART.search(said)
        if part is not None:
            return part["package"].lower() == re.sub(r"[-.]", "_", package).lower()
        file, by = _NODE_FILE.search(said), _ASKED_BY.search(said)
        if self.started or file is None:
            return False
        places = [file["path"]] if file["path"].startswith("/") else [by["path"] if by else ""]
        own = re.compile(rf"/node_modules/{re.escape(package)}/(?!(?:.*/)?node_modules/)")
        return any(map(own.search, places))

    @property
    def breaks_when_asked(self) -> bool:
        """Its tools fail inside a package: an older one may be what it was made for."""
        errors = self.search.errors_of.values()
        return self.canary is None and any(map(_BROKEN.search, errors))

    @property
    def needs_network(self) -> bool:
        """It fetches something before it answers, which no argument changes."""
        return not self.started and bool(_OFFLINE.search(self.problem))

    @property
    def is_hopeless(self) -> bool:
        """No other arguments would start it."""
        if self.lacks_native or self.lacks_a_program:
            return True
        if self.started:
            return False
        if self.is_broken or self.is_garbled or self.is_miswired or self.lacks_a_package:
            return True
        return self.needs_network or self.listens

    @property
    def is_miswired(self) -> bool:
        """Its package starts an async function that nothing awaits: nobody can start it so."""
        return not self.started and "was never awaited" in self.problem

    @property
    def is_garbled(self) -> bool:
        """It runs, and what it says is not the protocol's."""
        return self.problem.startswith(BREAKS_PROTOCOL)

    @property
    def lacks_native(self) -> bool:
        """A part of it that its install script would have built or fetched is not there."""
        return self.canary is None and any(map(LACKS.search, self.complaints))

    @property
    def complaints(self) -> list[str]:
        """What it said when it did not start, and when it answered with an error."""
        search = self.search
        failed = search.failed.values()
        return [self.problem, self.said, *failed, *search.seen, *search.errors_of.values()]

    @property
    def complaints_now(self) -> list[str]:
        """Without what its tools answered, where one of them answers well: that may be code."""
        if self.canary is None:
            return [*self.complaints, self.stderr]
        return list(self.search.errors_of.values())

    @property
    def lacks_a_program(self) -> bool:
        """None of its tools works, and it names a program that could be brought."""
        works = self.search.calls > self.search.errors
        return self.canary is None and not works and bool(programs_lacked(self.complaints))

    @property
    def ended_by(self) -> str:
        """The tool that ended the server when it was asked; empty for none."""
        return self.search.asking if self.started and self.problem else ""

    @property
    def may_want_a_program(self) -> bool:
        """One of its own, run before it is started."""
        return not self.started or bool(self.ended_by or self.search.shut_out)

    @property
    def fails_without_a_word(self) -> bool:
        """Each of its tools answers with an error; a process that it starts may have said why."""
        calls, errors = self.search.calls, self.search.errors
        return self.started and self.canary is None and calls == errors > 0

    @property
    def lacks_a_package(self) -> bool:
        """It says which one to install, and complains of nothing that it was started with."""
        says = _TO_INSTALL.search(self.problem) and not USAGE.search(self.problem)
        return not self.started and bool(says) and not launches_in_help(self.said)

    @property
    def writable(self) -> tuple[str, ...]:
        """Where it may write: with more, a program that failed may not fail."""
        return (*self.private, *(("",) if self.launch.copied else ()))

    @property
    def started(self) -> bool:
        return bool(self.tools)


@dataclass(frozen=True, kw_only=True)
class Start:
    """What was installed, and how far its best way to start went."""

    candidate: Candidate
    spec: ServerSpec
    attempt: StartAttempt
