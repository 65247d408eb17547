"""images/agents/: the programs, read, and fetched on this machine when they are first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.agents.packaged import PACKAGED
from runner.protocols import Log
from runner.records import Sha256, parse_yaml, read_text
from runner.records.packaged_agents import AgentSpec
from runner.sandbox.base_image import BaseImage
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.cell_layout import AGENT_INSTALL
from runner.sandbox.engine import Engine, architecture, volume_exists
from runner.servers.definition_rules import fill_placeholders
from runner.servers.volume import FOR_AGENT, ensure_volume, volume_name
from runner.support.errors import FairtrialError

LIMIT_BYTES = 1_000_000
RUNS_ON = "x86_64"
"""The packages that images/agents pins are for it alone."""


@dataclass(frozen=True, kw_only=True)
class LoadedAgent:
    """servers.volume.Installable."""

    spec: AgentSpec
    folder: Path


@dataclass(frozen=True, kw_only=True)
class PreparedProgram:
    """An agent's program, installed and pinned. Plain values, as all that cells stand on."""

    title: str
    """With its version."""
    version: str
    command: str
    """Its path in the cell."""
    volume: str
    content: Sha256
    """Of its volume."""
    reads_repository: bool
    """AgentSpec.reads_repository."""


def is_packaged(agent: str) -> bool:
    return agent in PACKAGED


def read_agent(root: Path, name: str) -> LoadedAgent:
    """Raises CatalogError for what is no agent.yaml."""
    folder = root / "images/agents" / name
    path = folder / "agent.yaml"
    where = path.relative_to(root).as_posix()
    if not path.is_file():
        raise FairtrialError(f"there is no {where} here", hint="run fairtrial in a whole checkout")
    text = read_text(path, where=where, limit_bytes=LIMIT_BYTES)
    return LoadedAgent(spec=parse_yaml(text, AgentSpec, where=where), folder=folder)


def ensure_program(
    engine: Engine, agent: LoadedAgent, base: BaseImage, builder_env: BuilderEnv, log: Log
) -> PreparedProgram:
    """The agent's program in its volume: fetched first if it is not there.

    Raises FairtrialError for another machine than it runs on, ServerError if it cannot be fetched,
    LockError if its content was changed.
    """
    spec = agent.spec
    title = f"{spec.title} {spec.version}"
    require_machine(title, architecture(engine))
    if spec.terms and not volume_exists(engine, volume_name(agent, base.recipe, whose=FOR_AGENT)):
        log(f"{title} is proprietary software, fetched from npm for you; its licence: {spec.terms}")
    volume = ensure_volume(engine, agent, base, builder_env, log, whose=FOR_AGENT)
    return PreparedProgram(
        title=title,
        version=spec.version,
        command=str(fill_placeholders(spec.command, {"install": AGENT_INSTALL})),
        volume=volume.volume,
        content=volume.digest,
        reads_repository=spec.reads_repository,
    )


def require_machine(title: str, machine: str) -> None:
    """Raises FairtrialError. Else a hundred megabytes would be fetched that do not start."""
    if machine != RUNS_ON:
        raise FairtrialError(
            f"{title} is pinned for Linux on {RUNS_ON} alone, and this engine's machine is"
            f" {machine}",
            hint="point DOCKER_HOST to an engine on x86-64, or leave out --agent",
        )


def require_fitting(agent: str, kinds: dict[str, str]) -> None:
    """`kinds`: model -> its name in MODELS. Raises FairtrialError for one that it cannot ask."""
    wanted = PACKAGED[agent].kind
    for model, kind in kinds.items():
        if kind != wanted:
            raise FairtrialError(
                f"{agent} cannot ask {model}", hint=f"it asks `{wanted}:ID`: --model {wanted}:ID"
            )
