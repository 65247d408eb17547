"""One question to both arms, before minutes and dollars are spent: is the server used at all?"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner.agents.models import kind_name
from runner.agents.models.offline.findings import findings_in
from runner.authoring.onboarding.tool_roles import writers
from runner.records import Event, Prose, ToolCall, ToolResult
from runner.records.run_store import RunStore
from runner.records.transcript_files import iter_transcript
from runner.runs.run_inputs import PreparedRun
from runner.servers.example_arguments import Target, unknown_keys
from runner.servers.tool_answers import finds_nothing, is_refusal
from runner.support.errors import NotReadyError
from runner.support.text import counted

if TYPE_CHECKING:
    import mcp_types

_CITED = re.compile(r"`([^`\s]+:\d+)` has `([^`]+)`")
_SHOWN = 4
"""Tools of which is said what they lack."""
_KNOWN = Target(name="name", path="a.py", line=1)
"""What is known of a repository: a name, and where it is."""


def one_question(prepared: PreparedRun) -> PreparedRun:
    """The same with the first step of each scenario alone."""
    scenarios = {
        name: replace(
            item, scenario=item.scenario.model_copy(update={"steps": item.scenario.steps[:1]})
        )
        for name, item in prepared.scenarios.items()
    }
    return replace(prepared, scenarios=scenarios)


@dataclass(frozen=True, kw_only=True)
class ToolsShare:
    """Over the questions that both arms answered: what may be owed to the server's tools.

    With a server the offline program still searches by words where the tools name no place. Where
    both arms cite the same, equal figures say nothing of the tools.
    """

    questions: int = 0
    same: int = 0
    """Of them those for which both cited the same places."""
    cited: int = 0
    """Places, by the server's arm."""
    read: int = 0
    """Of them those that the program had read in an answer of the tools."""


@dataclass(frozen=True, kw_only=True)
class CellPair:
    """One question's events, without the server and with it."""

    question: str
    alone: Sequence[Event]
    with_server: Sequence[Event]


@dataclass(frozen=True, kw_only=True)
class ServerUse:
    """How the server's tools fared in a run."""

    calls: int
    errors: int
    """Marked as one, or an answer that says that it failed."""
    first_error: str
    failure: str
    """Why its cell is no measurement; empty if it is one."""
    empty: int = 0
    """Answered without an error, and found nothing."""
    tools: Mapping[str, int] = field(default_factory=dict)
    """As the model knows it -> how often it was called."""
    share: ToolsShare = field(default_factory=ToolsShare)

    @property
    def none(self) -> bool:
        """Of a cell that ended well."""
        return not self.failure and self.errors == self.calls


def server_use(store: RunStore) -> ServerUse:
    """Of the cells that are not the shell's."""
    tools: Counter[str] = Counter()
    results, failure = [], ""
    for cell in store.plan().cells:
        attempt = store.counted_attempt(cell.id)
        if cell.server == "shell" or attempt is None:
            continue
        loaded = store.load_cell(cell)
        if not loaded.measured:
            ended = loaded.result.outcome if loaded.result else None
            failure = (ended.reason or ended.kind) if ended else "it was cut"
        # Of each cell anew: ids of calls are told apart in one conversation alone.
        events = list(iter_transcript(attempt.path / "transcript.jsonl"))
        made = _made(events)
        tools.update(it.tool for it in made.values())
        results += [it for it in events if isinstance(it, ToolResult) and it.call_id in made]
    return replace(_use_of(results, tools, failure), share=share_of(list(_pairs(store))))


def _made(events: Sequence[Event]) -> dict[str, ToolCall]:
    """Calls of the server's tools, by their ids."""
    calls = (it for it in events if isinstance(it, ToolCall) and it.origin == "server")
    return {it.call_id: it for it in calls}


def _use_of(results: Sequence[ToolResult], tools: Counter[str], failure: str) -> ServerUse:
    failed = [it.is_error or says_that_it_failed(it.text) for it in results]
    errors = [it.text for it, is_error in zip(results, failed, strict=True) if is_error]
    answers = [it.text for it, is_error in zip(results, failed, strict=True) if not is_error]
    return ServerUse(
        calls=tools.total(),
        errors=len(errors),
        first_error=_telling(errors)[:160],
        failure=failure,
        empty=sum(map(finds_nothing, answers)),
        tools=dict(tools.most_common()),
    )


def _telling(errors: Sequence[str]) -> str:
    """The first that does not end where it would say why: `Command failed with exit code 1:`."""
    said = [" ".join(text.split()) for text in errors]
    return next((text for text in said if not text.endswith(":")), said[0] if said else "")


def says_that_it_failed(text: str) -> bool:
    """Many servers answer `Error: …` and mark it as no error."""
    return is_refusal(text) or re.match(r"\W{0,3}error(?: \w+){0,5}:", text.lower()) is not None


def remarks(use: ServerUse, network_attempts: int) -> Iterator[str]:
    """What the person must know before the run goes on."""
    if use.failure:
        yield f"its cell is no measurement: {use.failure}"
    elif use.none:
        yield _unused(use)
    else:
        calls, errors = counted(use.calls, "call"), counted(use.errors, "error")
        yield f"{calls} of its tools, {errors}, {use.empty} found nothing"
        if use.errors:
            yield f"such as: {use.first_error}"
    if network_attempts:
        yield f"{network_attempts} network attempts were refused: a cell has no network"


def _unused(use: ServerUse) -> str:
    if not use.calls:
        return "it called none of the server's tools: a run would compare the shell with itself"
    return f"every one of {use.calls} calls was an error, such as: {use.first_error}"


def require_used(
    use: ServerUse,
    models: Sequence[str],
    server: str,
    tools: Callable[[], Sequence[mcp_types.Tool]],
) -> Iterator[str]:
    """What to do about a server that was of no use, for models that may use it all the same.

    Raises NotReadyError if the offline model alone would go on, and every call was an error:
    its minutes would show nothing.
    """
    if not use.none or ends_uncalled(use, models):
        return
    lacking = list(what_lacks(tools()))
    if not _is_offline(models):
        yield from lacking
        yield "the offline model asked; it goes on, as yours chooses tools for itself"
        return
    raise NotReadyError(
        "\n  ".join([_unused(use), *lacking]),
        where=server,
        hint="the offline model asked, which goes by names, schemas and annotations; --model "
        f"NAME asks a language model. `fairtrial server tools {server}` and `fairtrial server call "
        f"{server} TOOL '{{…}}'` show what its tools take and answer",
    )


def ends_uncalled(use: ServerUse, models: Sequence[str]) -> bool:
    """Is nobody left who would call it? That is no error of the server's."""
    return use.none and not use.calls and _is_offline(models)


def _is_offline(models: Sequence[str]) -> bool:
    return all(kind_name(model) == "offline" for model in models)


def what_lacks(tools: Sequence[mcp_types.Tool]) -> Iterator[str]:
    """Each tool that only reads, and what it requires that nothing is known of."""
    lacking, writing = [], writers(tools)
    for tool in tools:
        unknown = [] if tool.name in writing else unknown_keys(tool.input_schema, _KNOWN)
        if unknown:
            lacking.append(f"{tool.name} needs {', '.join(unknown)}, of which nothing is known")
    yield from lacking[:_SHOWN]
    if len(lacking) > _SHOWN:
        yield f"and {len(lacking) - _SHOWN} more tools alike"
    if tools and len(writing) == len(tools):
        yield "all of its tools write, and a cell's repository may only be read"


# --- what the tools had a part in -----------------------------------------------------------------


def share_of(pairs: Sequence[CellPair]) -> ToolsShare:
    asked = {pair.question for pair in pairs}
    differ = {
        it.question for it in pairs if _cited(it.alone).keys() != _cited(it.with_server).keys()
    }
    return ToolsShare(
        questions=len(asked),
        same=len(asked - differ),
        cited=sum(len(_cited(pair.with_server)) for pair in pairs),
        read=sum(len(_read(pair.with_server)) for pair in pairs),
    )


def _pairs(store: RunStore) -> Iterator[CellPair]:
    cells = store.plan().cells
    shells = {(it.scenario, it.model, it.trial): it for it in cells if it.server == "shell"}
    for cell in cells:
        alone = shells.get((cell.scenario, cell.model, cell.trial))
        if alone is None or cell.server == "shell":
            continue
        ended = [store.counted_attempt(it.id) for it in (alone, cell)]
        events = [list(iter_transcript(it.path / "transcript.jsonl")) for it in ended if it]
        if len(events) == len(ended):
            yield CellPair(question=cell.scenario, alone=events[0], with_server=events[1])


def _cited(events: Sequence[Event]) -> dict[str, str]:
    """Place -> the code that the answer shows of it."""
    texts = (it.text for it in events if isinstance(it, Prose))
    return {place: code for text in texts for place, code in _CITED.findall(text)}


def _read(events: Sequence[Event]) -> set[str]:
    """Cited places that an answer of the tools shows as the program reads it.

    It numbers the lines of a file that was asked for by its path, where the answer does not.
    """
    cited, found = _cited(events), set[str]()
    made = _made(events)
    for answer in events:
        # An error that quotes a line has found nothing.
        if not isinstance(answer, ToolResult) or answer.is_error or answer.call_id not in made:
            continue
        asked = json.dumps(made[answer.call_id].arguments, ensure_ascii=False)
        found |= {f"{row.path}:{row.line}" for row in findings_in(answer.text)}
        found |= {
            place
            for place, code in cited.items()
            if place.rpartition(":")[0] in asked and code in answer.text
        }
    return found & cited.keys()
