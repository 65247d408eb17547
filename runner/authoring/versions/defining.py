"""A version of a server, installed and defined: the head as the base is, if it can be.

The base is defined as `try` does it. The head is then given the base's definition over its own
files and locks: started with the same words and held to the same health probe, what differs is the
server's doing. Only where that fails is the head looked at anew, and that it failed is a change.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeGuard

from pydantic import TypeAdapter

from runner.authoring.onboarding.definition_files import write_definition
from runner.authoring.onboarding.flow import find_out
from runner.authoring.onboarding.installing import draft
from runner.authoring.onboarding.local_server import Copied, copied_command, copied_folder
from runner.authoring.onboarding.onboarding_state import AskPerson, OnboardingState, Overrides
from runner.authoring.onboarding.published_images import DockerImage
from runner.authoring.onboarding.server_source import (
    Command,
    LocalPath,
    NpmPackage,
    PypiPackage,
    ServerSource,
    slug_of,
)
from runner.authoring.onboarding.starting import About, opened
from runner.authoring.onboarding.starts import installed
from runner.catalog.checkout import Checkout, relocked
from runner.catalog.locks import harness_digest
from runner.records import Record, Seconds, ServerSpec, digest_of, parse_json, parse_yaml
from runner.records.run_store import write_record
from runner.runs.prepare import check_server
from runner.support.errors import FairtrialError

DEFINED = "version.json"
LEAST_PATIENCE_SEC = 8
MOST_SLOWER = 4
"""Times as long as the base took."""
_EXACT = re.compile(r"\d+\.\d+\.\d+\S*")
_TAG_CHARS = 24
_STARTED = ("command", "env", "private", "warm_up", "canaries")
"""What a definition says of how a server is started and proven."""
_ITS_OWN = ("name", "title", "version", "licence", "homepage", "image", "python", "files")
"""What it says of the package, and a head's never has from its base."""


class Defined(Record):
    """version.json, beside a definition that is kept."""

    unpinned: str = ""
    """What no lock holds, in words."""
    otherwise: str = ""
    """Why the head could not be defined as the base is; empty if it is, and of a base."""
    mends: tuple[str, ...] = ()
    """What a remedy did to its install, in words."""
    ready_sec: Seconds | None = None
    """Of the health probe, when a base was proven."""


@dataclass(frozen=True, kw_only=True)
class DefinedVersion:
    """A version whose definition was proven in the sandbox."""

    asked: str
    """As the person wrote it."""
    source: ServerSource
    folder: Path
    """With server.yaml, and the locks."""
    spec: ServerSpec
    facts: Defined

    def named(self, project: Path, name: str) -> None:
        """Written into a project under another name."""
        place = project / "images" / "servers" / name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.folder, place, ignore=shutil.ignore_patterns(DEFINED))
        write_definition(place, self.spec.model_copy(update={"name": name}), ())

    @property
    def arm(self) -> str:
        """The package and its version, or the digest of what was copied: the same tomorrow."""
        return known_arm(self.source) or arm_of(self.source, self.spec.version)


def arm_of(source: ServerSource, version: str) -> str:
    """The server's name, and its version in letters that a name may have."""
    tag = re.sub(r"[^a-z0-9.]+", "-", version.lower())[:_TAG_CHARS].strip("-.")
    return f"{slug_of(source)}-{tag}"


def known_arm(source: ServerSource) -> str:
    """The arm's name, where what is asked for says it; empty where installing it will.

    Installed under another name, the same packages would be installed twice.
    """
    if _is_local(source):
        return arm_of(source, digest_of(_content(source))[:8])
    return arm_of(source, source.version) if _has_version(source) else ""


def _is_local(source: ServerSource) -> TypeGuard[Command | LocalPath]:
    return isinstance(source, (Command, LocalPath))


def _content(source: ServerSource) -> Any:
    """What decides what is installed; of files of this machine what is copied, wherever it lies."""
    plain = TypeAdapter(type(source)).dump_python(source, mode="json")
    if isinstance(source, Command):
        installed, files = copied_command(source.words, slug_of(source))
        copied = Copied(installed=installed, files=files)
    elif isinstance(source, LocalPath):
        copied = copied_folder(source.path)
    else:
        return plain
    asked = {key: value for key, value in plain.items() if key not in ("path", "words")}
    return [asked, TypeAdapter(Copied).dump_python(copied, mode="json")]


def _has_version(source: ServerSource) -> TypeGuard[NpmPackage | PypiPackage]:
    return isinstance(source, (NpmPackage, PypiPackage)) and bool(_EXACT.fullmatch(source.version))


@dataclass(frozen=True, kw_only=True)
class Definer:
    """What both versions are defined with."""

    checkout: Checkout
    """Over the compare's project, which holds the scenario."""
    scenario: str
    given: Overrides
    ask: AskPerson

    def define(
        self, asked: str, source: ServerSource, like: DefinedVersion | None = None
    ) -> DefinedVersion:
        """`like`: the base, of a head. Raises FairtrialError with what is missing."""
        kept = self._kept(source, like)
        if kept is not None and (kept / DEFINED).is_file():
            self.checkout.log(f"{asked} is defined already: {kept}")
            return _read(asked, source, kept)
        about = About(scenarios=(self.scenario,))
        at_once = known_arm(source)
        with opened(source, self.given, about, self.checkout, self.ask, name=at_once) as steps:
            facts = _of_head(steps, like) if like else _of_base(steps)
            side = "head" if like else "base"
            place = kept or self.checkout.state / "versions" / steps.name / side
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(steps.folder, place)
        write_record(place / DEFINED, facts)
        return _read(asked, source, place)

    def _kept(self, source: ServerSource, like: DefinedVersion | None) -> Path | None:
        """Where it is kept for the next time; None of what may be another tomorrow."""
        is_image = isinstance(source, DockerImage) and bool(source.digest)
        if not (_has_version(source) or _is_local(source) or is_image):
            return None
        said = TypeAdapter(Overrides).dump_python(self.given, mode="json")
        base = like.spec.model_dump(mode="json") if like else None
        # Tomorrow a folder's packages may be others, and a base should have those of its head.
        day = datetime.now(UTC).date().isoformat() if _is_local(source) else ""
        about = self.checkout.scenario(self.scenario).scenario.repository.label
        inputs = [harness_digest(), _content(source), day, said, self.scenario, about, base]
        key = digest_of(inputs)[:16]
        return self.checkout.state / "versions" / slug_of(source) / key


def _read(asked: str, source: ServerSource, folder: Path) -> DefinedVersion:
    text = (folder / "server.yaml").read_text("utf-8")
    facts = parse_json((folder / DEFINED).read_text("utf-8"), Defined, where=str(folder / DEFINED))
    spec = parse_yaml(text, ServerSpec, where=str(folder / "server.yaml"))
    return DefinedVersion(asked=asked, source=source, folder=folder, spec=spec, facts=facts)


# --- the head, as the base is -------------------------------------------------------------------


def _of_base(steps: OnboardingState) -> Defined:
    card = find_out(steps).card
    return Defined(mends=tuple(steps.mends), ready_sec=card.ready_sec)


def _of_head(steps: OnboardingState, base: DefinedVersion) -> Defined:
    """As the base is, if it can be; what it alone was mended with is said in either case."""
    facts = _as_base(steps, base)
    if facts.otherwise:
        find_out(steps)
        facts = _once_mended(steps, base, facts)
    otherwise = needed_beside(base.facts.mends, steps.mends, facts.otherwise)
    return facts.model_copy(update={"otherwise": otherwise, "mends": tuple(steps.mends)})


def needed_beside(base: Sequence[str], head: Sequence[str], otherwise: str) -> str:
    """Why it is not the base's definition, headed by what mended the head and not the base."""
    known = {*map(_undated, base)}
    own = [it for it in head if _undated(it) not in known]
    if not own:
        return otherwise
    return f"it needs what the base does not: {'; '.join(own)}" + (
        f" (without it: {otherwise})" if otherwise else ""
    )


def _once_mended(steps: OnboardingState, base: DefinedVersion, first: Defined) -> Defined:
    """Why it is another, now that it lacks nothing: the first reason may have been the base's too.

    It lacked that before it was mended, and so does no harm to who has the base.
    """
    if _starts_as(steps, base.spec):
        return first.model_copy(update={"otherwise": ""})
    if not steps.mends:
        return first
    path = steps.folder / "server.yaml"
    anew = path.read_text("utf-8")
    again = _as_base(steps, base)
    if again.otherwise:
        path.write_text(anew, "utf-8")
    return again


def _undated(mend: str) -> str:
    """Packages of its release are of another day for each version."""
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", mend)


def _as_base(steps: OnboardingState, like: DefinedVersion) -> Defined:
    """Written and proven, or why not."""
    candidate = installed(steps)
    own = draft(steps.name, candidate.installed, candidate.files, candidate.image)
    base = like.spec
    update = {name: getattr(own, name) for name in _ITS_OWN}
    spec = base.model_copy(update={**update, "env": {**base.env, **own.env}})
    # A probe that asks for what the head says otherwise would fail for a minute.
    sooner = {"ready_timeout_sec": _patience_sec(like)}
    write_definition(steps.folder, spec.model_copy(update=sooner), steps.guesses)
    steps.say("2/6 starting it as the base was")
    otherwise = _why_not(steps)
    write_definition(steps.folder, spec, steps.guesses)
    if otherwise:
        steps.say(f"  {otherwise}: looking at it anew")
    return Defined(unpinned=candidate.unpinned, otherwise=otherwise)


def _patience_sec(base: DefinedVersion) -> int:
    """For a head's first pass of the base's probe; what takes longer is past any margin of it."""
    whole = base.spec.ready_timeout_sec
    if base.facts.ready_sec is None:
        return whole
    return min(whole, LEAST_PATIENCE_SEC + math.ceil(MOST_SLOWER * base.facts.ready_sec))


def _starts_as(steps: OnboardingState, base: ServerSpec) -> bool:
    path = steps.folder / "server.yaml"
    own = parse_yaml(path.read_text("utf-8"), ServerSpec, where=str(path))
    return all(getattr(own, name) == getattr(base, name) for name in _STARTED)


def _why_not(steps: OnboardingState) -> str:
    """Empty if the base's definition holds for it."""
    own = relocked(steps.checkout, steps.project)
    try:
        card = check_server(own, steps.name, steps.loaded.scenario.id)
    except FairtrialError as error:
        return error.what.splitlines()[0]
    if card.canary_passed:
        return ""
    return f"the base's health probe got: {' '.join(card.canary_text.split())[:120] or 'nothing'}"
