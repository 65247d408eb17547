"""What a stranger needs to run this again: the command, and every version that was in use."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from runner.records import Record, Scenario, ServerSpec, digest_of
from runner.report.records import Repeat
from runner.report.view import RunView, fingerprints, unique
from runner.store import LoadedRun

_SHARED = (
    "harness",
    "base_image",
    "limits",
    "container",
    "engine",
    "kernel",
    "model",
    "model_identity",
)
_PER_SCENARIO = ("commit", "tree", "workspace_image", "prompts")
_PER_SERVER = ("server_version", "server_spec")


def how_to_repeat(
    run: LoadedRun,
    view: RunView,
    scenarios: Mapping[str, Scenario],
    servers: Mapping[str, ServerSpec],
) -> Repeat:
    everywhere = list(fingerprints(view.cells))
    return Repeat(
        command=_command(run, view),
        plan_digest=digest_of(run.plan),
        versions={name: _values(everywhere, name) for name in _SHARED},
        servers={name: _server_facts(view, name, servers.get(name)) for name in view.servers},
        scenarios={
            name: _scenario_facts(view, name, scenarios.get(name)) for name in view.scenarios
        },
    )


def _server_facts(view: RunView, server: str, spec: ServerSpec | None) -> dict[str, str]:
    facts = {"licence": spec.licence} if spec else {}
    cells = [cell for cell in view.cells if cell.cell.server == server]
    ran = list(fingerprints(cells))
    facts |= _joined(ran, _PER_SERVER)
    tools = [fingerprint.tools for fingerprint in ran if fingerprint.tools]
    if tools:
        facts["tools_digest"] = ", ".join(_values(tools, "digest"))
        facts |= _joined(tools, ("server_info", "protocol"))
    return facts


def _scenario_facts(view: RunView, name: str, scenario: Scenario | None) -> dict[str, str]:
    facts = {"repository": scenario.repository.label if scenario else "unknown"}
    cells = [cell for cell in view.cells if cell.cell.scenario == name]
    return facts | _joined(list(fingerprints(cells)), _PER_SCENARIO)


def _joined(records: Sequence[Record], names: Iterable[str]) -> dict[str, str]:
    """Each field's values; more than one tells the reader that the run was not all alike."""
    if not records:
        return {}
    return {name: ", ".join(_values(records, name)) for name in names}


def _values(records: Iterable[Record], name: str) -> tuple[str, ...]:
    return unique(str(getattr(record, name)) for record in records)


def _command(run: LoadedRun, view: RunView) -> str:
    words = ["fairtrial", "run"]
    for flag, value in _options(run, view):
        # Quoted: a recording's path may hold a blank, and the line is there to be pasted.
        words += [flag, shlex.quote(value)]
    if run.plan.ungated:
        words.append("--ungated")
    return " ".join(words)


def _options(run: LoadedRun, view: RunView) -> Iterator[tuple[str, str]]:
    yield "--run", run.plan.run
    for flag, names in (
        ("--scenario", view.scenarios),
        ("--server", view.servers),
        ("--model", view.models),
    ):
        for name in names:
            yield flag, name
    trials = max((cell.trial for cell in run.plan.cells), default=1)
    yield "--trials", str(trials)
