"""What a stranger needs to run this again: the command, and every version that was in use."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from runner.records import Fingerprint, Record, Scenario, ServerSpec, digest_of, server_of
from runner.records.run_store import LoadedRun
from runner.report.records import Repeat
from runner.report.view import (
    RunView,
    fingerprints,
    grouped,
    imported_of,
    is_import,
    unique,
)

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
        evidence_digest=_evidence_digest(run),
        versions={name: _values(everywhere, name) for name in _SHARED},
        servers=dict(_servers(view, servers)),
        scenarios=dict(_scenarios(view, scenarios)),
    )


def _evidence_digest(run: LoadedRun) -> str:
    """In the plan's order; None stands for a cell without a result, so that none can be left out
    unseen."""
    results = {cell.cell.id: cell.result for cell in run.cells}
    held = [results.get(cell.id) for cell in run.plan.cells]
    return digest_of([digest_of(run.plan), *(result and digest_of(result) for result in held)])


NamedVersions = tuple[str, dict[str, str]]


def _servers(view: RunView, specs: Mapping[str, ServerSpec]) -> Iterator[NamedVersions]:
    cells = grouped(view.cells, lambda cell: cell.cell.server)
    for server in view.servers:
        ran = list(fingerprints(cells[server]))
        facts = {}
        spec = specs.get(server_of(server))
        if spec is not None:
            facts["licence"] = spec.licence
            facts |= dict(_numbered("substitute", spec.substitutes))
            facts |= dict(_numbered("note", spec.notes))
        yield server, facts | _joined(ran, _PER_SERVER) | _tool_facts(ran)


def _numbered(name: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(texts, start=1):
        yield f"{name}_{number}", text


def _tool_facts(ran: Iterable[Fingerprint]) -> dict[str, str]:
    tools = [fingerprint.tools for fingerprint in ran if fingerprint.tools]
    if not tools:
        return {}
    facts = {"tools_digest": ", ".join(_values(tools, "digest"))}
    return facts | _joined(tools, ("server_info", "protocol"))


def _scenarios(view: RunView, scenarios: Mapping[str, Scenario]) -> Iterator[NamedVersions]:
    cells = grouped(view.cells, lambda cell: cell.cell.scenario)
    for name in view.scenarios:
        repository = "unknown"
        if name in scenarios:
            repository = scenarios[name].repository.label
        ran = list(fingerprints(cells[name]))
        yield name, {"repository": repository} | _joined(ran, _PER_SCENARIO)


def _joined(records: Sequence[Record], names: Iterable[str]) -> dict[str, str]:
    """Each field's values; more than one tells the reader that the run was not all alike."""
    if not records:
        return {}
    return {name: ", ".join(_values(records, name)) for name in names}


def _values(records: Iterable[Record], name: str) -> tuple[str, ...]:
    return unique(str(getattr(record, name)) for record in records)


def _command(run: LoadedRun, view: RunView) -> str:
    if any(map(is_import, view.models)):
        return _import_command(run, view)
    words = ["fairtrial", "run"]
    for flag, value in _options(run, view):
        # Quoted: a recording's path may hold a blank, and the line is there to be pasted.
        words += [flag, shlex.quote(value)]
    if run.plan.ungated:
        words.append("--ungated")
    return " ".join(words)


def _import_command(run: LoadedRun, view: RunView) -> str:
    """One scenario's files after another; each must be as the digests in the report say."""
    commands = []
    for scenario in view.scenarios:
        words = ["fairtrial", "import", "claude-code", "--run", run.plan.run]
        words += ["--scenario", scenario]
        for cell in view.cells:
            found = imported_of(cell)
            if found is not None and cell.cell.scenario == scenario:
                words.append(shlex.quote(f"{cell.cell.server}={found.file}"))
        commands.append(" ".join(words + ["--ungated"] * run.plan.ungated))
    return " && ".join(commands)


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
    if run.plan.study is not None:
        yield "--seed", str(run.plan.study.seed)
        yield "--pass-at", str(run.plan.study.pass_at)
