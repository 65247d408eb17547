"""How a field of a verb's request says with which words a person fills it.

    scenario: str = said("--scenario S", "what it answers", required=True)
    files: tuple[Path, ...] = said("FILE …", "Markdown, plain text, or a transcript")
    judge: JudgeChoice = group(JudgeChoice)

The form is as in a line of usage: `--option VALUE`, `WORD`, `[WORD]`, `WORD …` for one or more,
`[WORD …]` for any number. The field's type says how a value is read (`READERS`), which there are
(`Literal`) and whether an option may be repeated (`tuple[…, ...]`); its default is the option's.
Over a verb and its groups, each name is one field's. More keywords are argparse's own.
"""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

if TYPE_CHECKING:
    from runner.records import Judging, Shard
    from runner.runs.executors.asked import Asked, TlsFiles

GatePolicy = Literal["require", "skip", "prefer"]
"""`require`: refuse while the gate is closed. `skip`: go on without it, and mark the result.
`prefer`: go behind the gate if it is open; if not, go on and mark the result."""
AGENT = "tool_calling"
TURN_TOKENS = 8192
MOST_TRIALS = 10_000
"""Every cell of a plan is in memory; this many take years."""
CONTEXT_TOKENS = 16_384
MODEL_HELP = (
    "offline, claude-ID, anthropic:ID, openai:ID, local:PATH.gguf or replay:PATH (default: offline)"
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What every verb is told."""

    root: Path
    """The folder that holds scenarios/, images/ and locks/."""


class WrongWords(ValueError):  # noqa: N818 - no error of ours: argparse ends the command with it
    """Raised by a request whose words do not go together."""


def said(form: str = "", about: str | None = None, default: Any = MISSING, **how: Any) -> Any:
    """A field that words fill. Without a form, a word that is one of the choices of its type."""
    if default is MISSING and form.startswith("-") and " " not in form:
        default = False
    return field(default=default, metadata={"form": form, "how": {"help": about, **how}})


def group(kind: type[Any]) -> Any:
    """A field that holds a dataclass of such fields, whose words stand here in the help."""
    return field(default_factory=kind, metadata={"group": kind})


def taken(kind: type[Any], request: Request, **more: Any) -> Any:
    """A record of another kind, of what it and the request call the same, and of `more`."""
    shared = [item.name for item in fields(kind) if hasattr(request, item.name)]
    return kind(**{name: getattr(request, name) for name in shared} | more)


# --- from fields to words -----------------------------------------------------------------------


def add_words(parser: argparse.ArgumentParser, kind: type[Any]) -> None:
    """The words of a request's dataclass, in the order of its fields."""
    if hasattr(kind, "USAGE"):
        parser.usage = kind.USAGE
    for item in fields(kind):
        if "group" in item.metadata:
            add_words(parser, item.metadata["group"])
        elif "form" in item.metadata:
            _add_word(parser, item)


def _add_word(parser: argparse.ArgumentParser, item: Field[Any]) -> None:
    name, metavars, nargs = _read_form(item.metadata["form"])
    kind, how = str(item.type), dict(item.metadata["how"])
    if kind == "bool":
        how["action"] = "store_true"
    elif kind.startswith("Literal"):
        how["choices"] = re.findall(r"'(\w+)'", kind)
    if metavars:
        how["metavar"] = metavars if len(metavars) > 1 else metavars[0]
        how.setdefault("type", READERS.get(kind))
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
        refuse: NoReturn = arguments.refuse(str(error))
        return refuse


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


def at_least_one(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def trials(text: str) -> int:
    number = at_least_one(text)
    if number > MOST_TRIALS:
        raise argparse.ArgumentTypeError(f"{text} trials are more than {MOST_TRIALS:,}")
    return number


def whole_number(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def dollars(text: str) -> float:
    try:
        usd = float(text)
    except ValueError:
        usd = 0.0
    if not 0 < usd < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of dollars")
    return usd


def unit(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no figure from 0 to 1")
    return share


def path_if_any(text: str) -> Path | None:
    return Path(text) if text else None


def shard_of(text: str) -> Shard:
    from runner.records import Shard

    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of) and int(of) > 1):
        raise argparse.ArgumentTypeError(f"{text!r} is no shard: 3/16 is the third of sixteen")
    return Shard(number=int(number), of=int(of))


READERS = {
    "int": at_least_one,
    "int | None": at_least_one,
    "Path": Path,
    "Path | None": path_if_any,
    "tuple[Path, ...]": Path,
}
"""A field's type → what reads a value; any other is read as text."""


# --- words of several verbs ---------------------------------------------------------------------


def repeatable(form: str, about: str, default: tuple[str, ...] = ()) -> Any:
    return said(f"{form} NAME", f"repeatable{about}", default)


def models() -> Any:
    return repeatable("--model", f"; {MODEL_HELP}", default=("offline",))


def agent() -> Any:
    """A name in AGENTS; empty for the models' own."""
    names = "tool_calling, react or json_actions"
    default = f"(default: {AGENT}, and json_actions for local weights)"
    return said("--agent NAME", f"how it calls tools: {names} {default}", "")


def run_name() -> Any:
    about = "the run's folder under runs/ (default: made from what is asked)"
    return said("--run NAME", about, "")


def as_json(about: str = "for scripts") -> Any:
    return said("--json", about)


def full() -> Any:
    return said("--full", "every table, not the first screen")


def jobs() -> Any:
    about = (
        "blocks at a time (a block: all arms of one scenario, model and trial, one after "
        "another); more than 1 makes seconds noisier"
    )
    return said("--jobs N", about, 1)


def shard() -> Any:
    about = (
        "only this share of the blocks, such as 3/16, for one of several machines that do not "
        "talk; `merge` makes one run of all; caps are shared out"
    )
    return said("--shard K/N", about, None, type=shard_of)


def ungated() -> Any:
    """A GatePolicy."""
    about = "go on without a passing gate; every page of the result says UNGATED"
    return said("--ungated", about, "require", action="store_const", const="skip")


def prices() -> Any:
    about = "dollars per million tokens (default: runner/prices.yaml)"
    return said("--prices FILE", about, None)


def max_dollars(about: str) -> Any:
    return said("--max-dollars USD", about, None, type=dollars)


@dataclass(frozen=True, kw_only=True)
class Turns:
    """What a turn of a model may take."""

    threads: int = said(
        "--threads N",
        "for local weights (default: half of this machine's)",
        # The other half is the container's, where commands and the server run.
        max(1, (os.cpu_count() or 1) // 2),
    )
    context_tokens: int = said(
        "--context-tokens N",
        f"room for a conversation with local weights (default: {CONTEXT_TOKENS})",
        CONTEXT_TOKENS,
    )
    thinking_tokens: int = said(
        "--thinking-tokens N",
        f"a turn's, at most; 0 for none (default: {TURN_TOKENS})",
        TURN_TOKENS,
        type=whole_number,
    )
    output_tokens: int = said(
        "--output-tokens N",
        f"a turn's, at most, thinking apart (default: {TURN_TOKENS})",
        TURN_TOKENS,
    )


@dataclass(frozen=True, kw_only=True)
class JudgeSpending:
    """What judging may cost, a run's earlier spending counted."""

    prices: Path | None = prices()
    run_usd: float | None = max_dollars("what judging may cost, earlier judging of the run counted")


@dataclass(frozen=True, kw_only=True)
class RunSpending:
    dry_run: bool = said("--dry-run", "say what it would take and could find, and spend nothing")
    prices: Path | None = prices()
    cell_usd: float | None = said(
        "--cell-dollars USD", "what one cell may cost", None, type=dollars
    )
    run_usd: float | None = max_dollars(
        "what the run may cost, every attempt counted; the run ends there and can go on"
    )


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    seed: int | None = said(
        "--seed N",
        "draws the order of the arms in each block (default: made from the run's name)",
        None,
        type=whole_number,
    )
    pass_at: float | None = said(
        "--pass-at F",
        "the fairness from which on a trial passes, for pass^k (default: 0.5)",
        None,
        type=unit,
    )
    margin: float | None = said(
        "--margin F",
        "the difference in fairness below which none matters, for `no worse` and `equivalent` "
        "(default: 0.05)",
        None,
        type=unit,
    )
    api_jobs: int | None = said(
        "--api-jobs N",
        "requests at a time at one provider, over all cells; waiting is no agent's time",
        None,
    )


def tls_files(text: str) -> TlsFiles:
    folder = Path(text)
    return folder / "ca.pem", folder / "cert.pem", folder / "key.pem"


def tls() -> Any:
    about = "a folder with ca.pem, cert.pem and key.pem: whom this machine trusts, and who it is"
    return said("--tls DIR", about, None, type=tls_files)


@dataclass(frozen=True, kw_only=True)
class ExecutorChoice:
    """Where cells run."""

    executor: str = said(
        "--executor NAME",
        "where cells run: local; dask, --jobs workers on this machine; or dask://HOST:PORT, the "
        "workers of a scheduler (default: local)",
        "local",
    )
    exchange: str = said(
        "--exchange URL",
        "where workers leave what they measured: a folder that all of them see, sftp:// or s3:// "
        "(default: the run's folder)",
        "",
    )
    tls: TlsFiles | None = tls()

    def asked(self, jobs: int) -> Asked:
        from runner.runs.executors.asked import Asked

        return Asked(jobs=jobs, exchange=self.exchange, tls=self.tls)


@dataclass(frozen=True, kw_only=True)
class JudgeChoice:
    """Who judges; nobody named: a run is judged as it was before, else by the default."""

    judges: tuple[str, ...] = said(
        "--judge NAME",
        "checklist, model:ID with an ID as --model takes it, or local:PATH.gguf, weights on "
        "this machine; several make a panel, whose median counts (default: as the run was judged "
        "before, else checklist)",
        (),
    )
    judge_form: Literal["tool", "schema"] = said(
        "--judge-form",
        "schema: for a model whose native tool calls fail (default: tool)",
        "tool",
    )
    judge_batch: int = said("--judge-batch N", "facts of one request, at most (default: 8)", 8)
    judge_seed: int = said(
        "--judge-seed N", "of the order of facts (default: 0)", 0, type=whole_number
    )
    duplicates: int = said(
        "--duplicates N", "a model's readings of each answer; their mean counts (default: 2)", 2
    )

    @property
    def judging(self) -> Judging | None:
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
