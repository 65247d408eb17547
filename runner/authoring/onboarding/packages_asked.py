"""Servers that a run names by their packages: each is defined as by a try, in the run's project."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from runner.authoring.onboarding.definition_files import save
from runner.authoring.onboarding.flow import find_out
from runner.authoring.onboarding.onboarding_state import AskPerson, Overrides
from runner.authoring.onboarding.starting import About, name_for, opened, read_server
from runner.catalog.asked_arms import split_arm
from runner.catalog.catalog import can_be_measured
from runner.catalog.checkout import Checkout
from runner.catalog.project import write_project_lock
from runner.records import canonical_json
from runner.records.run_store import write_whole

FILE = "packages.json"
"""In the run's project: package -> the name of its definition there."""
_KINDS = ("npm:", "pypi:", "docker:")


def packages_in(arms: Sequence[str]) -> list[str]:
    """`npm:x` of `npm:x`, `npm:x` once more and `npm:x+20`; not `shell`, nor what is defined."""
    return list(dict.fromkeys(_split(arm)[0] for arm in arms if arm.startswith(_KINDS)))


def arms_by_name(arms: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """`names`: package -> its server's name."""
    found = []
    for arm in arms:
        package, altered = _split(arm)
        found.append(names[package] + altered if package in names else arm)
    return tuple(found)


def _split(arm: str) -> tuple[str, str]:
    return split_arm(arm, ()) if arm.startswith(_KINDS) else (arm, "")


def names_to_come(packages: Sequence[str], checkout: Checkout) -> dict[str, str]:
    """What their servers would be called: nothing is looked at."""
    return {it: name_for(read_server((it,), (), ""), checkout) for it in packages}


def define_all(
    packages: Sequence[str], checkout: Checkout, project: Path, scenario: str, ask: AskPerson
) -> dict[str, str]:
    """Package -> its server's name in the project, whose other definitions stay.

    What an earlier run defined and can show the scenario's commit is taken as it is. Raises
    FairtrialError with what is missing, as a try does.
    """
    names = _defined(project)
    for package in packages:
        # Opened anew: a catalog keeps what it found when it was opened.
        own = checkout.over(project)
        if _still_shows(names.get(package, ""), own, scenario):
            where = project / "images/servers" / names[package]
            checkout.log(f"{package} is defined already: {where}; without it, it is found anew")
            continue
        if package in names:
            shutil.rmtree(project / "images/servers" / names[package], ignore_errors=True)
        names[package] = _define(package, checkout.over(project), project, scenario, ask)
        write_whole(project / FILE, canonical_json(names) + "\n")
        write_project_lock(project)
    return names


def _define(package: str, checkout: Checkout, project: Path, scenario: str, ask: AskPerson) -> str:
    asked, about = read_server((package,), (), ""), About(scenarios=(scenario,))
    with opened(asked, Overrides(), about, checkout, ask) as steps:
        tried = find_out(steps)
        save(tried, project)
    return tried.server


def _defined(project: Path) -> dict[str, str]:
    with suppress(OSError, ValidationError):
        return TypeAdapter(dict[str, str]).validate_json((project / FILE).read_bytes())
    return {}


def _still_shows(name: str, checkout: Checkout, scenario: str) -> bool:
    if name not in checkout.catalog.servers:
        return False
    return can_be_measured(checkout.server(name).spec, checkout.scenario(scenario).scenario)
