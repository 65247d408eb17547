"""Tools under other names or descriptions, measured beside those that are published.

name: clearer
server: maps          # only this server's tools; left out: every tool of that name
tools:
  get_route:
    name: plan_route
    description: The way from one place to another, with its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from runner.benchmarks.toolbench.tasks import Expected, Task, Tool, fold_server
from runner.records import Name, Record, parse_yaml, read_text
from runner.support.errors import FairtrialError

PUBLISHED = "published"
"""The arm whose tools are as the data has them."""
LIMIT_BYTES = 1_000_000


class ChangedTool(Record):
    """What a variant says of a tool otherwise; None leaves it as it is."""

    name: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    description: str | None = None


class Variant(Record):
    """server.yaml of `--variant`."""

    name: Name
    """The arm's."""
    server: str = ""
    """Whose tools are changed; empty for every tool that is named."""
    tools: Annotated[dict[str, ChangedTool], Field(min_length=1)]
    """Name as published -> what is changed."""

    def concerns(self, tool: Tool) -> bool:
        if tool.name not in self.tools:
            return False
        return not self.server or fold_server(tool.server) == fold_server(self.server)

    def new_name(self, name: str) -> str:
        changed = self.tools.get(name)
        return name if changed is None or changed.name is None else changed.name


def read_variant(path: Path) -> Variant:
    """Raises CatalogError for what is no variant, FairtrialError for a name that is taken."""
    text = read_text(path, where=str(path), limit_bytes=LIMIT_BYTES)
    variant = parse_yaml(text, Variant, where=str(path))
    if variant.name == PUBLISHED:
        what = f"{PUBLISHED} is what the unchanged tools are called"
        raise FairtrialError(what, where=f"{path} name")
    return variant


def concerned(tasks: Iterable[Task], variant: Variant) -> list[Task]:
    """The tasks that offer a tool it changes. Raises FairtrialError if a tool is never offered."""
    found: list[Task] = []
    unseen = set(variant.tools)
    for task in tasks:
        names = {tool.name for tool in task.tools if variant.concerns(tool)}
        unseen -= names
        if names:
            found.append(task)
    if unseen:
        hint = "tools go by the names that the data has for them"
        what = f"no task offers {', '.join(sorted(unseen))}"
        raise FairtrialError(what, where=f"variant {variant.name}", hint=hint)
    return found


def applied(task: Task, variant: Variant | None) -> Task:
    """The task with the variant's tools, its label with their names.

    Raises FairtrialError if two tools of the task would have one name.
    """
    if variant is None or not any(map(variant.concerns, task.tools)):
        return task
    tools = tuple(_changed_tools(task.tools, variant))
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        what = f"two tools of task {task.id} would have one name"
        raise FairtrialError(what, where=f"variant {variant.name}", hint="choose another name")
    renamed = {
        tool.name: variant.new_name(tool.name) for tool in task.tools if variant.concerns(tool)
    }
    expected = tuple(_renamed(call, renamed) for call in task.expected)
    return replace(task, tools=tools, expected=expected)


def _changed_tools(tools: Sequence[Tool], variant: Variant) -> Iterator[Tool]:
    for tool in tools:
        if not variant.concerns(tool):
            yield tool
            continue
        changed = variant.tools[tool.name]
        description = tool.description if changed.description is None else changed.description
        yield replace(tool, name=variant.new_name(tool.name), description=description)


def _renamed(call: Expected, names: Mapping[str, str]) -> Expected:
    similar = frozenset(names.get(name, name) for name in call.similar)
    return replace(call, name=names.get(call.name, call.name), similar=similar)
