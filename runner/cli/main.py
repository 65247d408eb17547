"""From the command's words to a verb, and from what it returns or raises to an exit code.

Importing this imports little more than argparse: `fairtrial --help` waits for it. A verb's module
is imported when its words are read.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from functools import partial

from runner import __version__
from runner.cli.output import FAILED, INTERRUPTED, OK, OUR_BUG, help_columns, show, tell
from runner.cli.verbs import VERBS, is_group, module_of

TYPE_CHECKING = False  # importing typing and pathlib here would cost --help half of its time
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from runner.support.errors import EngineError

DESCRIPTION = (
    "Give an MCP server a fair trial: does attaching it make a coding agent's\n"
    "answers better, or does it only burn tokens?"
)
FIRST_SCREEN = f"""\
{DESCRIPTION}

  fairtrial demo                    two servers and the shell, and a report
  fairtrial try npm:NAME            your server beside the shell, and a report
  fairtrial ground --repo . FILE    are the file:line citations of a text true?

Next: `fairtrial scenario new --repo .` asks about your own code. `fairtrial
--help` lists every verb."""
OLD_WORDS = {"--bring": "--with", "--canary": "--probe"}
"""Options that had another name before; scripts may still use it."""
EXIT_CODES = """\
exit codes:
  0 done   1 something you can fix (the message says what, where, and a hint)
  2 usage   3 anchors drifted   4 anchors disagree   5 no verdict
  70 our bug   130 interrupted (the same command goes on)
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, run the verb, and exit with its code."""
    from runner.support.streams import make_lasting

    # By default Python looks for garbage after each 700 new objects. A verb makes millions and
    # keeps most, in modules and syntax trees: a fifth of its time would go into looking.
    gc.set_threshold(100_000, 20, 20)
    stdout = make_lasting()
    try:
        words = in_todays_words(sys.argv[1:] if argv is None else argv)
        arguments = make_parser(help_columns()).parse_args(words)
        code = _run_verb(arguments)
    except SystemExit as end:  # --help, --version, or words that are no command
        code = int(end.code or OK)
    sys.stdout.flush()
    if stdout.loss and code == OK:
        tell(f"error: the result could not be written to stdout: {stdout.loss}")
        tell("hint: nothing else is lost; say the same command again with room for what it says")
        code = FAILED
    sys.exit(code)


def in_todays_words(argv: Sequence[str]) -> list[str]:
    """With options as they are called now; a note for each that was called otherwise."""
    words: list[str] = []
    for word in argv:
        if "--" in words:  # what follows is another program's
            words.append(word)
            continue
        name, equals, value = word.partition("=")
        today = OLD_WORDS.get(name, name)
        if today != name:
            tell(f"note: {name} is called {today} now")
        words.append(f"{today}{equals}{value}")
    return words


# --- the parser ---------------------------------------------------------------------------------


def make_parser(columns: int) -> argparse.ArgumentParser:
    """Of the whole command. `columns`: how wide its help may be.

    What it parses carries `verb`, a name in VERBS or nothing, and the verb's fields by their names.
    """

    # Left to find the width itself, argparse imports shutil: a fifth of what --help costs.
    formatter = partial(argparse.RawDescriptionHelpFormatter, width=columns - 2)
    parser = argparse.ArgumentParser(
        prog="fairtrial", description=DESCRIPTION, epilog=EXIT_CODES, formatter_class=formatter
    )
    parser.add_argument("--version", action="version", version=f"fairtrial {__version__}")
    parser.add_argument(
        "--root",
        default=".",
        help="a project (`fairtrial init`), a checkout, or any folder to work in (default: this)",
    )
    parser.set_defaults(verb="")
    _add_verbs(parser, columns)
    return parser


def _add_verbs(parser: argparse.ArgumentParser, columns: int) -> None:
    formatter = partial(argparse.HelpFormatter, width=columns - 2)
    groups = {"": parser.add_subparsers(title="verbs", metavar="VERB", parser_class=_VerbParser)}
    for verb, text in VERBS.items():
        group, _, word = verb.rpartition(" ")
        added = groups[group].add_parser(
            word, help=text, description=text, formatter_class=formatter
        )
        if is_group(verb):
            groups[verb] = added.add_subparsers(title="what", metavar="WHAT", required=True)
        else:
            added.verb = verb


class _VerbParser(argparse.ArgumentParser):
    """Of one verb, whose module is asked for its words when they are to be read."""

    verb = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.verb:
            from importlib import import_module

            from runner.cli.options import add_words

            add_words(self, import_module(module_of(self.verb)).Verb)
            self.set_defaults(verb=self.verb, refuse=self.error)
        return super().parse_known_args(args, namespace)


# --- a verb -------------------------------------------------------------------------------------


def _run_verb(arguments: argparse.Namespace) -> int:
    from runner.support.errors import FairtrialError, of_system
    from runner.support.interrupts import heeded

    try:
        with heeded():
            return _done(arguments)
    except FairtrialError as error:
        tell(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        if _is_of_signal():
            return _interrupted()
        refusal = of_system(error) if isinstance(error, OSError) else None
        refusal = refusal or _lost_engine(error)
        if refusal is None:
            return _report_our_bug(arguments.root)
        tell(f"error: {refusal}")
        return refusal.exit_code


def _is_of_signal() -> bool:
    """The exception being handled is what a library made of a signal's.

    pydantic, met while it builds a model, ends in a SchemaError that only quotes it.
    """
    import traceback

    from runner.support.interrupts import was_raised

    return was_raised() and "KeyboardInterrupt" in traceback.format_exc()


def _interrupted() -> int:
    # Streams that were cut in the middle of a read say so when they are collected: a traceback
    # of GitPython's, of which nobody could make anything.
    sys.unraisablehook = lambda _: None
    tell("interrupted: what is finished is kept, and the same command goes on from here")
    return INTERRUPTED


def _done(arguments: argparse.Namespace) -> int:
    if not arguments.verb:
        show(FIRST_SCREEN)
        return OK
    from importlib import import_module

    from runner.cli.options import request_of

    module = import_module(module_of(arguments.verb))
    return int(module.run(request_of(module.Verb, arguments)))


def _lost_engine(error: Exception) -> EngineError | None:
    # Loading the SDK takes a third of a second; before it is loaded nothing talks to an engine.
    if "docker" not in sys.modules:
        return None
    from runner.sandbox.engine import lost

    return lost(error)


def _report_our_bug(root: str) -> int:
    import time
    import traceback
    from pathlib import Path

    from runner.catalog.project import state_of
    from runner.cli.opening import caches

    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    log = state_of(Path(root), caches()) / "logs" / name
    text = f"fairtrial {__version__}, Python {sys.version}\n{traceback.format_exc()}"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text, encoding="utf-8")
    except OSError:
        tell(f"error: this is a bug of ours, not yours, and its log could not be written\n{text}")
    else:
        tell(f"error: this is a bug of ours, not yours\nhint: please report it with {log}")
    return OUR_BUG


if __name__ == "__main__":
    main()
