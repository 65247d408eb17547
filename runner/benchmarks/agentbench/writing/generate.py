"""Queries written by a model: tools, person, scenario and objective first, then the message.

Source: seed 003, section 2.1.2 and the prompts of appendix E. The prompts are our own, in that
structure. What comes of it is a draft: nothing here is a suite's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.benchmarks.agentbench.proof.query_rules import is_named
from runner.benchmarks.agentbench.queries import Category
from runner.benchmarks.agentbench.testbed.router import ListedTool, Listing
from runner.benchmarks.agentbench.writing.drafts import DraftFailure, QueryDraft
from runner.benchmarks.agentbench.writing.steering import Aim, planned_text
from runner.benchmarks.agentbench.writing.writer import NoUsableReply, Writer, prompt
from runner.records import digest_of
from runner.scoring.judges.form import BrokenReply
from runner.support.text import cut

PARTS = ("selected_tools", "user_profile", "scenario", "objective")
OFFERED = 6
"""Servers that a plan over several is given to choose from."""
DESCRIPTION_CHARS = 600
INSTRUCTIONS_CHARS = 1500
QUERY_CHARS = 6000
"""The paper's queries are mostly of 800 to 1,000; the longest of a person's messages."""


@dataclass(frozen=True, kw_only=True)
class Components:
    """What a message is written from."""

    tools: tuple[str, ...]
    """`server/tool`."""
    profile: str
    scenario: str
    objective: str

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tool.partition("/")[0] for tool in self.tools))


class NoScene(Exception):  # noqa: N818 - it is a result, and is written down
    """The model says that the servers have nothing for the category, and why."""


# --- one draft ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DraftBrief:
    """What a draft is to be."""

    category: Category
    listings: Mapping[str, Listing]
    """Server -> what it offers: those that a plan may use."""
    now: str
    """The present time, as the model is told it."""
    provenance: str
    aim: Aim
    """What this draft is to be like."""
    taken: frozenset[str] = frozenset()
    """Messages that there are already."""
    planned: tuple[str, ...] = ()
    """Person and scenario of earlier drafts."""


async def generate(writer: Writer, wanted: DraftBrief) -> QueryDraft | DraftFailure:
    """Two requests, each made once more if its reply cannot be used.

    Raises ProviderError or SpendingCap.
    """
    try:
        components = await writer.write(
            prompt("components"),
            components_request(wanted),
            lambda reply: read_components(reply, wanted),
        )
    except NoScene as error:
        return _failure(writer, wanted, "no_scene", "components", str(error), str(error))
    except NoUsableReply as error:
        return _failure(writer, wanted, "broken", "components", error.problem, error.reply)
    try:
        query = await writer.write(
            prompt("query"),
            query_request(wanted, components),
            lambda reply: read_query(reply, components, wanted.taken),
        )
    except NoUsableReply as error:
        return _failure(writer, wanted, "broken", "query", error.problem, error.reply)
    return _draft(wanted, components, query)


def _draft(wanted: DraftBrief, components: Components, query: str) -> QueryDraft:
    short = wanted.category.replace("-server", "").removesuffix("-call")
    return QueryDraft(
        # By its content: numbered, drafts of two files could not go into one suite.
        id=f"{short}-{digest_of(query)[:8]}",
        category=wanted.category,
        offered=tuple(wanted.listings),
        tools=components.tools,
        profile=components.profile,
        scenario=components.scenario,
        objective=components.objective,
        query=query,
        provenance=wanted.provenance,
    )


def _failure(writer: Writer, wanted: DraftBrief, kind: str, part: str, *said: str) -> DraftFailure:
    problem, reply = said
    return DraftFailure.model_validate(
        {
            "category": wanted.category,
            "servers": tuple(wanted.listings),
            "part": part,
            "kind": kind,
            "problem": problem,
            "reply": reply,
            "model": writer.model.name,
        }
    )


# --- the plan -------------------------------------------------------------------------------


def components_request(wanted: DraftBrief) -> str:
    """The user's message of the first request."""
    return "\n\n".join(
        [
            _tagged("mcp_servers", servers_text(wanted.listings)),
            _tagged("system_time", wanted.now),
            _tagged("category", wanted.category),
            _tagged("aim", wanted.aim.as_text()),
            *([_tagged("planned_before", planned_text(wanted.planned))] if wanted.planned else []),
            "Plan one case. Use the tools' and servers' names exactly as they stand.",
        ]
    )


def servers_text(listings: Mapping[str, Listing]) -> str:
    """Servers and their tools, as a model reads them."""
    parts = []
    for name, listing in listings.items():
        lines = [f"# {name}"]
        if listing.instructions:
            lines.append(cut(listing.instructions, INSTRUCTIONS_CHARS)[0])
        parts.append("\n".join([*lines, *map(_tool_text, listing.tools)]))
    return "\n\n".join(parts)


def _tool_text(tool: ListedTool) -> str:
    description = cut(" ".join(tool.description.split()), DESCRIPTION_CHARS)[0]
    return f"- {tool.name}: {description}\n  arguments: {json.dumps(tool.input_schema)}"


def _tagged(name: str, text: str) -> str:
    return f"<{name}>\n{text.strip()}\n</{name}>"


def read_components(reply: str, wanted: DraftBrief) -> Components:
    """Raises NoScene if the model says so, BrokenReply if the plan cannot be used."""
    parts = {name: _part(reply, name) for name in PARTS}
    missing = [name for name in PARTS if not parts[name]]
    reason = _part(reply, "no_scene")
    if reason and len(missing) == len(PARTS):
        raise NoScene(reason)
    if missing:
        raise BrokenReply(f"there is no <{missing[0]}>…</{missing[0]}>")
    components = Components(
        tools=_tools(parts["selected_tools"], wanted.listings),
        profile=parts["user_profile"],
        scenario=parts["scenario"],
        objective=parts["objective"],
    )
    _require_category(components, wanted.category)
    return components


def _part(reply: str, name: str) -> str:
    """What stands between the last pair of its tags; empty if there is none."""
    # A model that thinks aloud writes the tags more than once: its last word counts.
    found = re.findall(rf"<{name}>(.*?)</{name}>", reply, re.DOTALL)
    return found[-1].strip() if found else ""


def _tools(text: str, listings: Mapping[str, Listing]) -> tuple[str, ...]:
    known = {f"{name}/{tool.name}" for name, listing in listings.items() for tool in listing.tools}
    written = re.findall(r"^[\s*\-\d.`]*([^\s:`/]+/[^\s:`]+)`?\s*(?::|$)", text, re.MULTILINE)
    if not written:
        raise BrokenReply("<selected_tools> has no line `server/tool: why`")
    for tool in written:
        if tool not in known:
            raise BrokenReply(f"there is no tool {tool}")
    return tuple(dict.fromkeys(written))


def _require_category(components: Components, category: Category) -> None:
    servers, tools = len(components.servers), len(components.tools)
    if category.endswith("-single-call"):
        if tools != 1:
            raise BrokenReply(f"{tools} tools are selected; {category} takes one")
    elif category.startswith("multi-server") and servers < 2:
        raise BrokenReply(f"the tools are of one server; {category} takes two or more")
    elif category.startswith("single-server") and servers != 1:
        raise BrokenReply(f"the tools are of {servers} servers; {category} takes one")


# --- the message ----------------------------------------------------------------------------


def query_request(wanted: DraftBrief, components: Components) -> str:
    """The user's message of the second request."""
    chosen = {name: wanted.listings[name] for name in components.servers}
    return "\n\n".join(
        [
            _tagged("system_time", wanted.now),
            _tagged("category", wanted.category),
            _tagged("user_profile", components.profile),
            _tagged("scenario", components.scenario),
            _tagged("objective", components.objective),
            _tagged("mcp_servers", servers_text(chosen)),
            _tagged("selected_tools", "\n".join(components.tools)),
            _tagged("length", wanted.aim.length),
            "Write the message, and nothing else.",
        ]
    )


def read_query(reply: str, components: Components, taken: frozenset[str] = frozenset()) -> str:
    """Raises BrokenReply for what no user would send, or has sent."""
    query = reply.strip().strip('"').strip()
    if not query:
        raise BrokenReply("it is empty")
    if query in taken:
        raise BrokenReply("there is this very message already")
    if len(query) > QUERY_CHARS:
        raise BrokenReply(f"it has {len(query)} characters; {QUERY_CHARS} are the most")
    if tag := re.search(r"</?[a-z_]+>", query):
        raise BrokenReply(f"it holds the tag {tag[0]}")
    for tool in components.tools:
        for name in tool.split("/", 1):
            if is_named(name, query):
                raise BrokenReply(f"it names {name!r}; the person knows no tools")
    return query


# --- what is planned with -------------------------------------------------------------------


def servers_for(category: Category, names: Sequence[str], seed: int, number: int) -> list[str]:
    """Which servers a plan may choose from: one, or some. Drawn by digest, so that a seed repeats.

    `number`: of the draft. One server follows another, so that none is asked about twice before
    each was once.
    """
    in_order = sorted(names, key=lambda name: digest_of([seed, category, name]))
    count = 1 if category.startswith("single-server") else min(OFFERED, len(in_order))
    start = number * count
    return [in_order[(start + place) % len(in_order)] for place in range(count)]
