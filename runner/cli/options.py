"""How a field of a verb's request says with which words a person fills it.

    scenario: str = said("--scenario S", "what it answers", required=True)
    files: tuple[Path, ...] = said("FILE …", "Markdown, plain text, or a transcript")
    judge: JudgeChoice = group(JudgeChoice)

The form is as in a line of usage: `--option VALUE`, `WORD`, `[WORD]`, `WORD …` for one or more,
`[WORD …]` for any number. The field's type says how a value is read (`READERS`), which there are
(`Literal`), whether an option may be repeated (`tuple[…, ...]`), and what it is if nobody says it
and it has no default: None, the first choice, no words, or no. Over a verb and its groups, each
name is one field's. More keywords are argparse's own.
"""

from __future__ import annotations

import argparse
import os
import re
from ast import literal_eval
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, dataclass_transform

from runner.cli import shapes

Whole = int
Trials = int
Dollars = float
Share = float
MOST_TRIALS = 10_000
"""Every cell of a plan is in memory; this many take years."""
MODEL_NAMES = "offline, claude-ID, anthropic:ID, openai:ID, local:PATH.gguf or replay:PATH"
MODEL_HELP = f"{MODEL_NAMES} (default: offline)"
_UNSAID = object()


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Words:
    """A frozen dataclass of fields that words fill; so is each that derives from it."""

    def __init_subclass__(cls) -> None:
        for name, kind in cls.__annotations__.items():
            item = vars(cls).get(name)
            if isinstance(item, Field) and item.default is _UNSAID:
                item.default = _empty(kind)
        dataclass(frozen=True, kw_only=True)(cls)


class Request(Words):
    """What every verb is told."""

    root: Path
    """The folder that holds scenarios/, images/ and locks/."""


class WrongWords(ValueError):  # noqa: N818 - no error of ours: argparse ends the command with it
    """Raised by a request whose words do not go together."""


def said(form: str = "", about: str | None = None, default: Any = MISSING, **how: Any) -> Any:
    """A field that words fill. Without a form, a word that is one of the choices of its type.

    `about`: for the help, which says in the place of `(default)` which that is.
    """
    about = about and about.replace("(default)", f"(default: {default})")
    if default is MISSING and form.startswith(("-", "[")) and not how.get("required"):
        default = _UNSAID
    return field(default=default, metadata={"form": form, "how": {"help": about, **how}})


def _empty(kind: str) -> Any:
    if kind.endswith(" | None"):
        return None
    if kind.startswith("Literal["):
        return literal_eval(kind[len("Literal") :])[0]
    return () if kind.startswith("tuple[") else kind != "bool" and ""


def group(kind: type[Any]) -> Any:
    """A field that holds a dataclass of such fields, whose words stand here in the help."""
    return field(default_factory=kind, metadata={"group": kind})


def taken(kind: type[Any], request: Request, **more: Any) -> Any:
    """A record of another kind, of what it and the request call the same, and of `more`."""
    shared = [item.name for item in fields(kind) if hasattr(request, item.name)]
    return kind(**{name: getattr(request, name) for name in shared} | more)


# --- from fields to words -----------------------------------------------------------------------


def add_words(parser: argparse.ArgumentParser, kind: type[Any]) -> None:
    """The words of a request's dataclass: its own in their order, then its `LAST`.

    `LAST`: the names of those that come last, the only ones of what it derives from that it takes.
    """
    parser.usage = getattr(kind, "USAGE", None) or parser.usage
    items = {item.name: item for item in fields(kind)}
    last = getattr(kind, "LAST", "").split()
    first = [name for name in (kind.__annotations__ if last else items) if name not in last]
    for name in (*first, *last):
        if "group" in items[name].metadata:
            add_words(parser, items[name].metadata["group"])
        elif "form" in items[name].metadata:
            _add_word(parser, items[name])


def _add_word(parser: argparse.ArgumentParser, item: Field[Any]) -> None:
    name, metavars, nargs = _read_form(item.metadata["form"])
    kind, how = str(item.type).replace("options.", ""), dict(item.metadata["how"])
    if kind == "bool":
        how["action"] = "store_true"
    elif kind.startswith("Literal"):
        how["choices"] = re.findall(r"'(\w+)'", kind)
    if metavars:
        how["metavar"] = metavars if len(metavars) > 1 else metavars[0]
        reader = READERS.get(kind) or READERS.get(kind.removesuffix(" | None"))
        how.setdefault("type", reader)
    if nargs:
        how["nargs"] = nargs
    if not name:
        if nargs == "?":
            how["default"] = item.default
        parser.add_argument(item.name, **how)
        return
    if kind.endswith(", ...]"):
        how["action"] = "append"
    # What is not said is not there, and the field's own default stands.
    parser.add_argument(name, dest=item.name, default=argparse.SUPPRESS, **how)


def _read_form(form: str) -> tuple[str, tuple[str, ...], str | int | None]:
    """An option's name, what stands for its values, and how many there may be."""
    name, _, values = form.partition(" ") if form.startswith("-") else ("", "", form)
    may_lack = values.startswith("[") and values.endswith("]")
    values = values[1:-1] if may_lack else values
    if values.endswith(" …"):
        return name, (values.removesuffix(" …"),), "*" if may_lack else "+"
    metavars = tuple(values.split())
    if may_lack:
        return name, metavars, "?"
    return name, metavars, len(metavars) if len(metavars) > 1 else None


def request_of(kind: type[Any], arguments: argparse.Namespace) -> Any:
    """The request; ends the command as argparse does if its words do not go together."""
    words = {**vars(arguments), "root": Path(arguments.root).resolve()}
    try:
        return _made(kind, words)
    except WrongWords as error:
        return arguments.refuse(str(error))


def _made(kind: type[Any], words: dict[str, Any]) -> Any:
    values = {}
    for item in fields(kind):
        if "group" in item.metadata:
            values[item.name] = _made(item.metadata["group"], words)
        elif item.name in words:
            values[item.name] = _frozen(words[item.name])
    return kind(**values)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


# --- how words are read -------------------------------------------------------------------------


def whole(least: int, text: str) -> int:
    if not text.isdigit() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least}")
    return int(text)


def trials(text: str) -> int:
    number = whole(1, text)
    if number > MOST_TRIALS:
        raise argparse.ArgumentTypeError(f"{text} trials are more than {MOST_TRIALS:,}")
    return number


def figure(what: str, holds: Callable[[float], bool], text: str) -> float:
    with suppress(ValueError):
        if holds(float(text)):
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no {what}")


def shard_of(text: str) -> shapes.Shard:
    from runner.records import Shard

    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of) and int(of) > 1):
        raise argparse.ArgumentTypeError(f"{text!r} is no shard: 3/16 is the third of sixteen")
    return Shard(number=int(number), of=int(of))


READERS = {
    "int": partial(whole, 1),
    "Whole": partial(whole, 0),
    "Trials": trials,
    "Dollars": partial(figure, "amount of dollars", lambda usd: 0 < usd < 1e9),
    "Share": partial(figure, "figure from 0 to 1", lambda share: 0 <= share <= 1),
    "Path": Path,
    "Path | None": lambda text: Path(text) if text else None,
    "tuple[Path, ...]": Path,
    "shapes.Shard": shard_of,
}
"""A field's type, but for `| None` → what reads a value; any other is read as text."""


# --- words of several verbs ---------------------------------------------------------------------


def repeatable(form: str, about: str) -> Any:
    return said(f"{form} NAME", f"repeatable{about}", ())


def run_name() -> Any:
    about = "the run's folder under runs/ (default: made from what is asked)"
    return said("--run NAME", about)


def as_json(about: str = "for scripts") -> Any:
    return said("--json", about)


def full() -> Any:
    return said("--full", "every table, not the first screen")


def ungated() -> Any:
    """A GatePolicy."""
    about = "go on without a passing gate; every page of the result says UNGATED"
    return said("--ungated", about, "require", action="store_const", const="skip")


def prices() -> Any:
    return said("--prices FILE", "dollars per million tokens (default: runner/prices.yaml)")


def tls() -> Any:
    about = "a folder with ca.pem, cert.pem and key.pem: whom this machine trusts, and who it is"
    return said("--tls DIR", about)


class Turns(Words):
    """What a turn of a model may take."""

    threads: int = said(
        "--threads N",
        "for local weights (default: half of this machine's)",
        # The other half is the container's, where commands and the server run.
        max(1, (os.cpu_count() or 1) // 2),
    )
    context_tokens: int = said(
        "--context-tokens N", "room for a conversation with local weights (default)", 16_384
    )
    thinking_tokens: Whole = said(
        "--thinking-tokens N", "a turn's, at most; 0 for none (default)", 8192
    )
    output_tokens: int = said(
        "--output-tokens N", "a turn's, at most, thinking apart (default)", 8192
    )


class JudgeSpending(Words):
    """What judging may cost, a run's earlier spending counted."""

    prices: Path | None = prices()
    run_usd: Dollars | None = said(
        "--max-dollars USD", "what judging may cost, earlier judging of the run counted"
    )


class RunSpending(Words):
    dry_run: bool = said("--dry-run", "say what it would take and could find, and spend nothing")
    prices: Path | None = prices()
    cell_usd: Dollars | None = said("--cell-dollars USD", "what one cell may cost")
    run_usd: Dollars | None = said(
        "--max-dollars USD",
        "what the run may cost, every attempt counted; the run ends there and can go on",
    )
    run_tokens: int | None = said(
        "--max-tokens N", "new tokens that the run may take, in the same way; it needs no price"
    )


class StudyOptions(Words):
    seed: Whole | None = said(
        "--seed N", "draws the order of the arms in each block (default: made from the run's name)"
    )
    pass_at: Share | None = said(
        "--pass-at F", "the fairness from which on a trial passes, for pass^k (default: 0.5)"
    )
    margin: Share | None = said(
        "--margin F",
        "the difference in fairness below which none matters, for `no worse` and `equivalent` "
        "(default: 0.05)",
    )
    api_jobs: int | None = said(
        "--api-jobs N",
        "requests at a time at one provider, over all cells; waiting is no agent's time",
    )


class JudgeChoice(Words):
    """Who judges; nobody named: a run is judged as it was before, else by the default."""

    judges: tuple[str, ...] = said(
        "--judge NAME",
        "checklist, exact (of keys), model:ID with an ID as --model takes it, or local:PATH.gguf, "
        "weights on this machine; several make a panel, whose median counts (default: as the run "
        "was judged before, else checklist)",
    )
    judge_form: Literal["tool", "schema"] = said(
        "--judge-form", "schema: for a model whose native tool calls fail (default: tool)"
    )
    judge_batch: int = said("--judge-batch N", "facts of one request, at most (default)", 8)
    judge_seed: Whole = said("--judge-seed N", "of the order of facts (default)", 0)
    duplicates: int = said(
        "--duplicates N", "a model's readings of each answer; their mean counts (default)", 2
    )

    @property
    def judging(self) -> shapes.Judging | None:
        from runner.records import Judging

        if not self.judges:
            return None
        return Judging(
            judges=self.judges,
            form=self.judge_form,
            batch=self.judge_batch,
            seed=self.judge_seed,
            duplicates=self.duplicates,
        )


def no_agent() -> Any:
    """Of a verb whose `--mode` says how models are asked: it refuses the word, and shows it not."""
    return said("--agent NAME", argparse.SUPPRESS, "")


class RunRequest(Request):
    """What verbs that run cells are told. Each says in its LAST which of these words it takes."""

    models: tuple[str, ...] = said("--model NAME", f"repeatable; {MODEL_HELP}", ("offline",))
    agent: str = said(
        "--agent NAME",
        "how it calls tools: tool_calling, react or json_actions "
        "(default: tool_calling, and json_actions for local weights); or a program that people "
        "use, in the cell: claude-code, codex or opencode",
    )
    """A name in AGENTS; empty for the models' own."""
    turns: Turns = group(Turns)
    spending: RunSpending = group(RunSpending)
    judge: JudgeChoice = group(JudgeChoice)
    trials: Trials = said("--trials N", "(default)", 1)
    study: StudyOptions = group(StudyOptions)
    executor: str = said(
        "--executor NAME",
        "where cells run: local; dask, --jobs workers on this machine; or dask://HOST:PORT, the "
        "workers of a scheduler (default)",
        "local",
    )
    exchange: str = said(
        "--exchange URL",
        "where workers leave what they measured: a folder that all of them see, sftp:// or s3:// "
        "(default: the run's folder)",
    )
    tls: Path | None = tls()
    name: str = run_name()
    json: bool = as_json("print the report as JSON instead of the first screen")
    full: bool = full()
    jobs: int = said(
        "--jobs N",
        "blocks at a time (a block: all arms of one scenario, model and trial, one after "
        "another); more than 1 makes seconds noisier",
        1,
    )
    shard: shapes.Shard | None = said(
        "--shard K/N",
        "only this share of the blocks, such as 3/16, for one of several machines that do not "
        "talk; `merge` makes one run of all; caps are shared out",
    )
    gate: shapes.GatePolicy = ungated()
