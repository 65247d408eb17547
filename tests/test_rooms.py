"""The house: which room stands on which. Imports go down or stay in the room, types included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

RUNNER = Path(__file__).resolve().parent.parent / "runner"
FLOORS = (
    {"support"},
    {"records"},
    {"protocols", "repositories"},
    {"sandbox", "grounding"},
    {"servers"},
    {"agents", "catalog"},
    {"scoring"},
    {"runs", "gate"},
    {"report"},
    {"benchmarks", "authoring"},
    {"cli"},
)
"""From the ground up; rooms of one floor may not import each other."""
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(RUNNER.rglob("*.py"))
VERSION = "__init__"
"""runner/__init__.py: the version and nothing else, for every room."""


def room_of(module: str) -> str:
    """`runner.gate.chain`: gate."""
    first = module.split(".")[1:2]
    return first[0] if first and first[0] in FLOOR_OF else VERSION


def imports() -> Iterator[tuple[str, str, str]]:
    """Each file of ours, the module of ours that it imports from, and what: perhaps a module."""
    for path in MODULES:
        name = path.relative_to(RUNNER.parent).as_posix()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "runner":
                for alias in node.names:
                    yield name, str(node.module), f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.split(".")[0] == "runner":
                        yield name, alias.name, alias.name


def room_of_file(name: str) -> str:
    return name.split("/")[1].removesuffix(".py")


def test_every_room_has_a_floor_and_there_are_no_others() -> None:
    entries = {path.stem for path in RUNNER.iterdir() if path.suffix == ".py" or path.is_dir()}
    rooms = entries - {"__pycache__", "shipped"}
    assert rooms - {VERSION} == FLOOR_OF.keys()
    assert len(rooms) <= 17
    assert len(FLOORS) <= 12


def test_imports_go_down_types_included() -> None:
    upwards = []
    for name, module, imported in imports():
        own, room = room_of_file(name), room_of(imported)
        if room in (own, VERSION) or own == VERSION:
            continue
        if FLOOR_OF[room] >= FLOOR_OF[own]:
            upwards.append(f"{name} imports {module}")
    assert upwards == []


def test_no_files_import_each_other_in_a_circle() -> None:
    files = {_dotted(path.relative_to(RUNNER.parent).as_posix()) for path in MODULES}
    stands_on: dict[str, set[str]] = {}
    for name, module, imported in imports():
        own = _dotted(name)
        meant = imported if imported in files else module
        if meant != own:
            stands_on.setdefault(own, set()).add(meant)
    TopologicalSorter(stands_on).prepare()  # raises CycleError with the circle


def _dotted(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
