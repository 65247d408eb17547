"""Keeps what a try has found in a project of the person's."""

from __future__ import annotations

import shutil
from pathlib import Path

from runner.authoring.onboarding.onboarding_state import OnboardedServer
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
