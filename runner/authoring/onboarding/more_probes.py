"""Health probes for the repositories of other scenarios that ship, so that a run compares there.

A server that is kept with one probe is measured on one repository, and a run over six compares
nothing on five of them. Each probe is found as the first was, and proven in a fresh cell.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from runner.authoring.onboarding.calling import Stand
from runner.authoring.onboarding.definition_files import write_definition
from runner.authoring.onboarding.onboarding_state import OnboardedServer
from runner.catalog.catalog import APART, LoadedScenario, can_be_measured
from runner.catalog.checkout import Checkout, lock
from runner.catalog.project import write_project_lock
from runner.records import ServerSpec
from runner.runs.prepare import check_server
from runner.support.errors import FairtrialError
from runner.support.text import counted, first_line

MOST_SEC = 600.0
"""After which no further repository is begun."""


@dataclass(frozen=True, kw_only=True)
class MeasuredOn:
    """Which of the scenarios that ship a server can be measured on."""

    measured: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    """(scenario, why)."""
    taken: tuple[str, ...]
    """What `run` takes where none is named: in a project with scenarios of its own, those alone."""

    def lines(self, server: str) -> Iterator[str]:
        """As a person reads it, before a run is asked for."""
        count = counted(len(self.measured) + len(self.left_out), "scenario")
        where = ", ".join(self.measured) or "none"
        yield f"`{self.command(server)}` compares on {len(self.measured)} of {count}: {where}"
        for scenario, why in self.left_out:
            yield f"  left out: {scenario}: {why}"
        if self._names_them and self.taken:
            yield f"  without --scenario it takes your project's own: {', '.join(self.taken)}"

    def command(self, server: str) -> str:
        """What runs them, whether or not a project has others of its own."""
        named = [f"--scenario {it}" for it in self.measured] if self._names_them else []
        return " ".join(["fairtrial run --server", server, *named])

    @property
    def _names_them(self) -> bool:
        looked_at = {*self.measured, *(scenario for scenario, _ in self.left_out)}
        return bool(self.measured) and set(self.taken) != looked_at


def core_scenarios(checkout: Checkout) -> dict[str, LoadedScenario]:
    """Those that `run` takes where none is named."""
    sound = checkout.catalog.scenarios.sound().items()
    return {name: loaded for name, loaded in sound if loaded.suite not in APART}


def missing_probes(checkout: Checkout, server: str) -> list[LoadedScenario]:
    """One scenario of each repository that the server has no health probe for."""
    spec = checkout.server(server).spec
    found: dict[str, LoadedScenario] = {}
    for loaded in core_scenarios(checkout).values():
        if not can_be_measured(spec, loaded.scenario):
            found.setdefault(loaded.scenario.repository.label, loaded)
    return list(found.values())


def add_probes(tried: OnboardedServer, checkout: Checkout, project: Checkout) -> MeasuredOn:
    """Writes what it finds into the try's definition. A repository without one is left out.

    `project`: where the server will be run from.
    """
    reasons: dict[str, str] = {}
    give_up = time.monotonic() + MOST_SEC
    for loaded in missing_probes(checkout.over(tried.folder), tried.server):
        label = loaded.scenario.repository.label
        if time.monotonic() > give_up:
            reasons[label] = f"not looked at: {MOST_SEC / 60:.0f} minutes were over"
            continue
        checkout.log(f"  {label}")
        # Opened anew: a catalog keeps what it found when it was opened.
        own = checkout.over(tried.folder)
        try:
            reasons[label] = _add(tried, own, loaded)
        except FairtrialError as error:
            reasons[label] = first_line(error.what)
        finally:
            own.close_files()
        checkout.log(f"    {reasons[label] or 'a health probe, proven in a fresh cell'}")
    taken: tuple[str, ...] = ()
    # In a project that no run would begin in, what was found must not be lost for it.
    with suppress(FairtrialError):
        taken = tuple(project.choose_scenarios(()))
    return _reach(checkout.over(tried.folder), tried.server, reasons, taken)


def _add(tried: OnboardedServer, own: Checkout, loaded: LoadedScenario) -> str:
    """Why there is none; empty if there is one now. Raises FairtrialError if it cannot start."""
    server = own.server(tried.server)
    found = Stand(checkout=own, server=server, loaded=loaded).find_probe()
    if found is None:
        return "no call of its tools shows this repository"
    before = server.spec
    _write(tried, before.model_copy(update={"canaries": (*before.canaries, found)}))
    try:
        if _is_proven(tried, own, loaded):
            return ""
    except FairtrialError:
        _write(tried, before)
        raise
    _write(tried, before)
    return "its health probe does not hold in a fresh cell"


def _write(tried: OnboardedServer, spec: ServerSpec) -> None:
    write_definition(tried.folder / "images/servers" / tried.server, spec, tried.guesses)
    write_project_lock(tried.folder)


def _is_proven(tried: OnboardedServer, own: Checkout, loaded: LoadedScenario) -> bool:
    fresh = own.over(tried.folder)
    lock(fresh, check=False)
    return check_server(fresh, tried.server, loaded.scenario.id).canary_passed


def _reach(
    own: Checkout, server: str, reasons: dict[str, str], taken: tuple[str, ...]
) -> MeasuredOn:
    spec = own.server(server).spec
    measured, left_out = [], []
    for name, loaded in core_scenarios(own).items():
        if can_be_measured(spec, loaded.scenario):
            measured.append(name)
        else:
            why = reasons.get(loaded.scenario.repository.label) or "it has no health probe there"
            left_out.append((name, why))
    return MeasuredOn(measured=tuple(measured), left_out=tuple(left_out), taken=taken)
