"""Servers' folders, from one project into another."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from runner.authoring.onboarding.onboarding_state import OnboardedServer
from runner.catalog.checkout import Checkout
from runner.records import server_of
from runner.support.errors import FairtrialError


def save(tried: OnboardedServer, project: Path) -> Path:
    """Copies the server's folder; returns where it is. Raises FairtrialError if one is there."""
    source = tried.folder / "images" / "servers" / tried.server
    place = project / "images" / "servers" / tried.server
    if place.exists():
        hint = "remove it first, or --save into another folder"
        raise FairtrialError("there is one already", where=str(place), hint=hint)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, place)
    return place


def copy_servers(checkout: Checkout, arms: Sequence[str], project: Path) -> None:
    """Of the arms' servers those of the person's project: another is laid over what ships."""
    for name, folder in checkout.catalog.servers.folders.items():
        if checkout.is_own(folder) and name in {*map(server_of, arms)}:
            shutil.copytree(folder, project / "images/servers" / name, dirs_exist_ok=True)
