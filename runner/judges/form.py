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
from typing import Annotated, Any

from pydantic import Field, ValidationError

from runner.records import FactStatus, Record, digest_of

VERSION = "1"
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
class Asked:
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


@dataclass(frozen=True, kw_only=True)
class Request:
    """Some facts of a step, and the step's answer."""

    asked: tuple[Asked, ...]
    answer: str

    @cached_property
    def text(self) -> str:
        """The user's message."""
        facts = json.dumps(list(map(_as_json, self.asked)), indent=1, ensure_ascii=False)
        mark = _mark(facts, self.answer)
        blocks = [*_block("FACTS", mark, facts), *_block("ANSWER", mark, self.answer)]
        closing = f"Report on {', '.join(fact.id for fact in self.asked)} and on false claims."
        return "\n".join([*blocks, closing])

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Of a reply: a verdict for every fact, none twice; what strict calls can be held to."""
        statuses = ["stated", "partial", "absent", "contradicted"]
        quote, verdict = {"type": "string"}, {"type": "string", "enum": statuses}
        fact = _object({"quote": quote, "verdict": verdict})
        places = {"path": {"type": "string"}, "line": {"type": "integer"}}
        claims = {"type": "array", "items": _object({"quote": quote, **places})}
        facts = _object({asked.id: fact for asked in self.asked})
        return _object({"facts": facts, "false_claims": claims})

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
    return resources.files("runner.judges").joinpath("model_prompt.md").read_text("utf-8")


def _as_json(asked: Asked) -> dict[str, Any]:
    source = [{"path": item.path, "lines": _numbered(item)} for item in asked.shown]
    return {"id": asked.id, "fact": asked.says, "source": source}


def _numbered(shown: Shown) -> list[str]:
    lines = shown.text.split("\n")
    return [f"{number}: {line}" for number, line in enumerate(lines, shown.line)]


def _mark(*texts: str) -> str:
    """A mark that none of the texts holds, and the same for the same texts: a judged answer is
    known again by what was asked."""
    mark = digest_of(texts)[:24]
    while any(mark in text for text in texts):
        mark = digest_of([mark, *texts])[:24]
    return mark


def _block(name: str, mark: str, text: str) -> Iterator[str]:
    yield f"===== {name} {mark} begins ====="
    yield text
    yield f"===== {name} {mark} ends ====="
    yield ""


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def batches(asked: Sequence[Asked], size: int, answer: str) -> Iterator[Request]:
    """Requests of up to `size` facts each, in the order given."""
    for start in range(0, len(asked), size):
        yield Request(asked=tuple(asked[start : start + size]), answer=answer)
