"""A version of a server, installed and defined: the head as the base is, if it can be.

The base is defined as `try` does it. The head is then given the base's definition over its own
files and locks: started with the same words and held to the same health probe, what differs is the
server's doing. Only where that fails is the head looked at anew, and that it failed is a change.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from pydantic import TypeAdapter

from runner.authoring.onboarding.definition_files import write_definition
from runner.authoring.onboarding.flow import find_out
from runner.authoring.onboarding.installing import draft
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
from runner.records import Record, ServerSpec, digest_of, load_json, parse_yaml
from runner.records.run_store import write_record
from runner.runs.prepare import check_server
from runner.support.errors import FairtrialError

DEFINED = "defined.json"
_EXACT = re.compile(r"\d+\.\d+\.\d+\S*")
_TAG_CHARS = 24
_STARTED = ("command", "env", "private", "warm_up", "canaries")
"""What a definition says of how a server is started and proven."""


class Defined(Record):
    """defined.json, beside a definition that is kept."""

    unpinned: str
    """What no lock holds, in words."""
    otherwise: str
    """Why the head could not be defined as the base is; empty if it is, and of a base."""


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
        if isinstance(self.source, (Command, LocalPath)):
            locks = [it.read_text("utf-8") for it in sorted(self.folder.glob("*lock*.json"))]
            return arm_of(self.source, digest_of([self.spec.model_dump(mode="json"), locks])[:8])
        return arm_of(self.source, self.spec.version)


def arm_of(source: ServerSource, version: str) -> str:
    """The server's name, and its version in letters that a name may have."""
    tag = re.sub(r"[^a-z0-9.]+", "-", version.lower())[:_TAG_CHARS].strip("-.")
    return f"{slug_of(source)}-{tag}"


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
        # Installed under the name of its arm, or the same packages would be installed twice.
        name = arm_of(source, source.version) if _has_version(source) else ""
        with opened(source, self.given, about, self.checkout, self.ask, name=name) as steps:
            facts = _as_base(steps, like.spec) if like else None
            if facts is None or facts.otherwise:
                find_out(steps)
                if facts and like and _starts_as(steps, like.spec):
                    # It lacked what the base lacked before it was mended: no doing of the head's.
                    facts = facts.model_copy(update={"otherwise": ""})
            facts = facts or Defined(unpinned="", otherwise="")
            place = kept or self.checkout.state / "versions" / steps.name / (
                (like and "head") or "base"
            )
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(steps.folder, place)
        write_record(place / DEFINED, facts)
        return _read(asked, source, place)

    def _kept(self, source: ServerSource, like: DefinedVersion | None) -> Path | None:
        """Where it is kept for the next time; None of what may be another tomorrow."""
        if not _is_exact(source):
            return None
        said = TypeAdapter(Overrides).dump_python(self.given, mode="json")
        known = TypeAdapter(type(source)).dump_python(source, mode="json")
        base = like.spec.model_dump(mode="json") if like else None
        key = digest_of([harness_digest(), known, said, self.scenario, base])[:16]
        return self.checkout.state / "versions" / slug_of(source) / key


def _is_exact(source: ServerSource) -> bool:
    return _has_version(source) or (isinstance(source, DockerImage) and bool(source.digest))


def _read(asked: str, source: ServerSource, folder: Path) -> DefinedVersion:
    text = (folder / "server.yaml").read_text("utf-8")
    facts = Defined.model_validate(load_json((folder / DEFINED).read_text("utf-8")))
    spec = parse_yaml(text, ServerSpec, where=str(folder / "server.yaml"))
    return DefinedVersion(asked=asked, source=source, folder=folder, spec=spec, facts=facts)


# --- the head, as the base is -------------------------------------------------------------------


def _as_base(steps: OnboardingState, base: ServerSpec) -> Defined:
    """Written and proven, or why not."""
    candidate = installed(steps)
    own = draft(steps.name, candidate.installed, candidate.files, candidate.image)
    spec = base.model_copy(
        update={
            "name": steps.name,
            "title": own.title,
            "version": own.version,
            "licence": own.licence,
            "homepage": own.homepage,
            "image": own.image,
            "python": own.python,
            "files": own.files,
            "env": {**base.env, **own.env},
        }
    )
    write_definition(steps.folder, spec, steps.guesses)
    steps.say("2/6 starting it as the base was")
    otherwise = _why_not(steps)
    if otherwise:
        steps.say(f"  {otherwise}: looking at it anew")
    return Defined(unpinned=candidate.unpinned, otherwise=otherwise)


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
