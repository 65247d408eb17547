"""What a model is asked about an answer, and what its reply has to look like.

The answer is data. It stands between two lines with a mark that it cannot hold: a digest of
everything between them, so that whoever writes the answer would have to foresee it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import Field, ValidationError

from runner.records import FactStatus, Record, digest_of

Read_co = TypeVar("Read_co", covariant=True)
VERSION = "2"
"""Raise it if the form of a request or of a reply changes; the prompt's text counts by itself."""
TOOL = "report_reading"
MAX_CLAIMS = 5
"""Of one step."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Lines of the source that a fact cites, as the model sees them."""

    path: str
    line: int
    end: int
    text: str

    def holds(self, path: str, line: int) -> bool:
        return path == self.path and self.line <= line <= self.end


@dataclass(frozen=True, kw_only=True)
class FactQuestion:
    """A fact, and the lines that prove it."""

    id: str
    """Within its request: ids say nothing of a fact's place or weight."""
    says: str
    shown: tuple[Shown, ...]


class FactReading(Record):
    quote: str
    verdict: FactStatus


class ClaimReading(Record):
    quote: str
    path: str
    line: Annotated[int, Field(ge=1)]


class Reading(Record):
    """A reply, read: what the model says, none of it checked yet."""

    facts: dict[str, FactReading]
    """By the facts' ids."""
    false_claims: tuple[ClaimReading, ...]


class BrokenReply(Exception):  # noqa: N818 - the model is asked once more
    """A reply that does not have the form that was asked for."""


class Question(Protocol[Read_co]):
    """What a model is asked, and how its reply is read."""

    @property
    def system(self) -> str: ...
    @property
    def text(self) -> str:
        """The user's message."""
        ...

    @property
    def schema(self) -> dict[str, Any]:
        """Of the reply."""
        ...

    def read(self, arguments: Mapping[str, Any]) -> Read_co:
        """Raises BrokenReply for what does not fit the schema."""
        ...


@dataclass(frozen=True, kw_only=True)
class FactsRequest:
    """Some facts of a step, what its answer was asked, and the answer."""

    asked: tuple[FactQuestion, ...]
    question: str
    answer: str

    @property
    def system(self) -> str:
        return system_prompt()

    @cached_property
    def text(self) -> str:
        """The user's message."""
        facts = facts_block(self.asked)
        blocks = {"QUESTION": self.question, "FACTS": facts, "ANSWER": self.answer}
        ids = ", ".join(fact.id for fact in self.asked)
        return f"{fenced(blocks)}\nReport on {ids} and on false claims."

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Of a reply: a verdict for every fact, none twice; what strict calls can be held to."""
        statuses = ["stated", "partial", "absent", "contradicted"]
        quote, verdict = {"type": "string"}, {"type": "string", "enum": statuses}
        fact = closed_object({"quote": quote, "verdict": verdict})
        places = {"path": {"type": "string"}, "line": {"type": "integer"}}
        claims = {"type": "array", "items": closed_object({"quote": quote, **places})}
        facts = closed_object({asked.id: fact for asked in self.asked})
        return closed_object({"facts": facts, "false_claims": claims})

    def read(self, arguments: Mapping[str, Any]) -> Reading:
        """Raises BrokenReply for what does not fit the schema."""
        try:
            reading = Reading.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise BrokenReply(f"{place or 'the reply'}: {first['msg']}") from error
        ids = {fact.id for fact in self.asked}
        if reading.facts.keys() != ids:
            missing = ", ".join(sorted(ids - reading.facts.keys())) or "none"
            unknown = ", ".join(sorted(reading.facts.keys() - ids)) or "none"
            raise BrokenReply(f"facts missing: {missing}; facts that were not asked: {unknown}")
        return reading


def system_prompt() -> str:
    """The prompt of the judge, as it is shipped."""
    return resources.files(__package__).joinpath("model_prompt.md").read_text("utf-8")


def facts_block(asked: Sequence[FactQuestion]) -> str:
    """Facts and their source as JSON."""
    return json.dumps(list(map(_as_json, asked)), indent=1, ensure_ascii=False)


def _as_json(asked: FactQuestion) -> dict[str, Any]:
    source = [{"path": item.path, "lines": _numbered(item)} for item in asked.shown]
    return {"id": asked.id, "fact": asked.says, "source": source}


def _numbered(shown: Shown) -> list[str]:
    lines = shown.text.split("\n")
    return [f"{number}: {line}" for number, line in enumerate(lines, shown.line)]


def fenced(blocks: Mapping[str, str]) -> str:
    """Each block between two lines with a mark that none of them holds."""
    mark = _mark(list(blocks.values()))
    lines = []
    for name, text in blocks.items():
        lines += [f"===== {name} {mark} begins =====", text, f"===== {name} {mark} ends =====", ""]
    return "\n".join(lines)


def _mark(texts: Sequence[str]) -> str:
    """The same for the same texts: what was asked before is known again."""
    mark = digest_of(texts)[:24]
    while any(mark in text for text in texts):
        mark = digest_of([mark, *texts])[:24]
    return mark


def closed_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with all of these keys and no other."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def batches(
    asked: Sequence[FactQuestion], size: int, question: str, answer: str
) -> Iterator[FactsRequest]:
    """Requests of up to `size` facts each, in the order given."""
    for start in range(0, len(asked), size):
        some = tuple(asked[start : start + size])
        yield FactsRequest(asked=some, question=question, answer=answer)
