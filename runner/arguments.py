"""The command's words: a parser for each verb, which makes the request that the verb is given.

Nothing here prints, reads the environment or does any work, and importing it imports little more
than argparse: `fairtrial --help` waits for it.
"""

from __future__ import annotations

import argparse
import os

from runner import __version__

TYPE_CHECKING = False  # importing typing and pathlib here would cost --help half of its time
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from runner.records import Judging
    from runner.requests import Request, TaskChoice

DEMO_SCENARIOS = ("flask-error-handling", "zod-issue-messages")
DEMO_SERVERS = ("shell", "mcp-ripgrep", "code-index-mcp")
TURN_TOKENS = 8192
AGENT = "tool_calling"
MODEL_HELP = (
    "offline, claude-ID, anthropic:ID, openai:ID, local:PATH.gguf or replay:PATH (default: offline)"
)
CONTEXT_TOKENS = 16_384
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
--help` lists every verb.
"""
EXIT_CODES = """\
exit codes:
  0 done   1 something you can fix (the message says what, where, and a hint)
  2 usage   3 anchors drifted   4 anchors disagree   5 no verdict
  70 our bug   130 interrupted (the same command goes on)
"""


class Verbs:
    """Where parsers of verbs are added; all of them show help in the same width."""

    def __init__(
        self, parent: argparse.ArgumentParser, columns: int, title: str, *, required: bool = True
    ) -> None:
        metavar = title.removesuffix("s").upper()
        self._parsers = parent.add_subparsers(title=title, metavar=metavar, required=required)
        self._columns = columns

    def add(self, name: str, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = self._parsers.add_parser(
            name, help=text, description=text, formatter_class=self._formatter
        )
        return parser

    def add_group(self, name: str, text: str) -> Verbs:
        """A verb that is followed by another word: `import claude-code`."""
        return Verbs(self.add(name, text), self._columns, "what")

    def _formatter(self, prog: str) -> argparse.HelpFormatter:
        return argparse.HelpFormatter(prog, width=self._columns - 2)


def make_parser(columns: int) -> argparse.ArgumentParser:
    """Of the whole command. `columns`: how wide its help may be.

    What it parses carries `verb`, a name in cli.VERBS, and `request_of`, which makes its request.
    """

    def formatter(prog: str) -> argparse.HelpFormatter:
        # Left to find the width itself, argparse imports shutil: a fifth of what --help costs.
        return argparse.RawDescriptionHelpFormatter(prog, width=columns - 2)

    parser = argparse.ArgumentParser(
        prog="fairtrial", description=DESCRIPTION, epilog=EXIT_CODES, formatter_class=formatter
    )
    parser.add_argument("--version", action="version", version=f"fairtrial {__version__}")
    parser.add_argument(
        "--root",
        default=".",
        help="a project (`fairtrial init`), a checkout, or any folder to work in (default: this)",
    )
    parser.set_defaults(verb="", request_of=_first_screen_request)
    verbs = Verbs(parser, columns, "verbs", required=False)
    for add_verb in (
        _add_demo,
        _add_init,
        _add_cell,
        _add_try,
        _add_run,
        _add_score,
        _add_report,
        _add_attest,
        _add_verify_report,
        _add_import,
        _add_scenario,
        _add_check,
        _add_lock,
        _add_server,
        _add_verify_anchors,
        _add_anchors,
        _add_ground,
        _add_toolbench,
        _add_agentbench,
        _add_judge_verb,
        _add_judge_noise,
        _add_agreement,
        _add_clean,
    ):
        add_verb(verbs)
    return parser


def _add(
    verbs: Verbs,
    name: str,
    request_of: Callable[[argparse.Namespace], Request],
    text: str,
    *,
    verb: str = "",
) -> argparse.ArgumentParser:
    """`verb`: its name in cli.VERBS, if that is another than the word on the command line."""
    parser = verbs.add(name, text)
    parser.set_defaults(request_of=request_of, verb=verb or name)
    return parser


def _root(arguments: argparse.Namespace) -> Path:
    from pathlib import Path

    return Path(arguments.root).resolve()


def _first_screen_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import Request

    return Request(root=_root(arguments))


def _add_demo(verbs: Verbs) -> None:
    text = "compare the shell with two servers on two scenarios, and write the report"
    parser = _add(verbs, "demo", _demo_request, text, verb="run")
    _add_run_name(parser)
    _add_json(parser, "print report.json instead of the first screen")
    _add_full(parser)
    _add_jobs(parser)


def _demo_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import RunRequest

    return RunRequest(
        root=_root(arguments),
        scenarios=DEMO_SCENARIOS,
        servers=DEMO_SERVERS,
        models=("offline",),
        agent=AGENT,
        threads=1,
        context_tokens=CONTEXT_TOKENS,
        thinking_tokens=TURN_TOKENS,
        output_tokens=TURN_TOKENS,
        cell_usd=None,
        dry_run=False,
        trials=1,
        jobs=arguments.jobs,
        executor="local",
        name=arguments.run,
        gate="prefer",
        full=arguments.full,
        json=arguments.json,
    )


def _add_cell(verbs: Verbs) -> None:
    parser = _add(
        verbs, "cell", _cell_request, "run one cell: a scenario with a server", verb="run"
    )
    parser.add_argument("scenario")
    parser.add_argument("server")
    parser.add_argument("--model", default="offline", help=MODEL_HELP)
    _add_model_limits(parser)
    _add_spending(parser)
    _add_judge(parser)
    _add_run_name(parser)
    _add_json(parser, "print report.json instead of the first screen")
    _add_full(parser)
    _add_ungated(parser)


def _cell_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import RunRequest

    return RunRequest(
        root=_root(arguments),
        scenarios=(arguments.scenario,),
        servers=(arguments.server,),
        models=(arguments.model,),
        agent=arguments.agent,
        threads=arguments.threads,
        context_tokens=arguments.context_tokens,
        thinking_tokens=arguments.thinking_tokens,
        output_tokens=arguments.output_tokens,
        cell_usd=arguments.cell_dollars,
        **_judged(arguments),
        dry_run=arguments.dry_run,
        trials=1,
        jobs=1,
        executor="local",
        name=arguments.run,
        gate=arguments.gate,
        full=arguments.full,
        json=arguments.json,
    )


def _add_run(verbs: Verbs) -> None:
    text = "run scenarios × servers × models × trials, score them, and write the report"
    parser = _add(verbs, "run", _run_request, text)
    _add_repeatable(
        parser, "--scenario", "repeatable (default: the project's, else all of scenarios/core)"
    )
    _add_repeatable(
        parser,
        "--server",
        "repeatable; `shell` is always an arm (default: the project's, else all)",
    )
    _add_repeatable(parser, "--model", f"repeatable; {MODEL_HELP}")
    _add_model_limits(parser)
    _add_spending(parser)
    _add_judge(parser)
    parser.add_argument(
        "--trials",
        type=_at_least_one,
        default=1,
        metavar="N",
        help=(
            "cells of each kind (default: 1); fixed before, and there is no rule that stops a run "
            "when its figures please: looking until they do finds differences that are not there"
        ),
    )
    _add_study(parser)
    parser.add_argument(
        "--executor", default="local", metavar="NAME", help="where cells run (default: local)"
    )
    _add_run_name(parser)
    _add_json(parser, "print report.json instead of the first screen")
    _add_full(parser)
    _add_jobs(parser)
    _add_ungated(parser)


def _run_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import RunRequest

    return RunRequest(
        root=_root(arguments),
        scenarios=tuple(arguments.scenario),
        servers=tuple(arguments.server),
        **_asked(arguments),
        **_judged(arguments),
        executor=arguments.executor,
        gate=arguments.gate,
        full=arguments.full,
    )


def _add_try(verbs: Verbs) -> None:
    text = "a server by its name: install it, find a canary, and compare it with the shell"
    parser = _add(verbs, "try", _try_request, text)
    parser.usage = (
        "fairtrial try [options] npm:NAME[@V] | pypi:NAME[==V] | PATH\n"
        "       fairtrial try [options] docker:IMAGE[@sha256:…]\n"
        "       fairtrial try [options] -- COMMAND …"
    )
    parser.add_argument("words", nargs="+", metavar="SERVER", help="options come before `--`")
    parser.add_argument("--args", help="it is started with, as in --args='--root {workspace}'")
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="repeatable")
    parser.add_argument("--entry", default="", metavar="NAME", help="of several entry points")
    parser.add_argument(
        "--warm-up",
        action="append",
        nargs=2,
        default=[],
        metavar=("TOOL", "JSON"),
        help="repeatable; what it must get first: a call, or `shell` and a command",
    )
    parser.add_argument(
        "--canary",
        nargs=3,
        metavar=("TOOL", "JSON", "TEXT"),
        help="a call, and a text of the repository that its answer must contain",
    )
    parser.add_argument("--before", default="", metavar="DATE", help="no package younger than that")
    parser.add_argument(
        "--scripts",
        default="",
        metavar="NAMES",
        help="npm packages whose install scripts run",
    )
    parser.add_argument(
        "--bring",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="repeatable; npm:NAME or pypi:NAME of a program that it runs, or none",
    )
    parser.add_argument(
        "--http", nargs="?", const="", metavar="PORT[/PATH]", help="it speaks streamable HTTP there"
    )
    _add_repeatable(parser, "--scenario", "to measure with (default: one that ships)")
    parser.add_argument("--repo", default="", metavar="PATH_OR_URL", help="ask about this instead")
    parser.add_argument("--commit", metavar="COMMIT", help="of --repo (default: HEAD)")
    parser.add_argument("--dirty", action="store_true", help="take --repo's files as they are")
    parser.add_argument(
        "--save", nargs="?", const=".", metavar="DIR", help="keep the server in a project"
    )
    _add_repeatable(parser, "--model", f"repeatable; {MODEL_HELP}")
    _add_model_limits(parser)
    _add_spending(parser)
    _add_judge(parser)
    parser.add_argument("--trials", type=_at_least_one, default=1, metavar="N", help="(default: 1)")
    _add_study(parser)
    _add_run_name(parser)
    _add_json(parser, "print report.json instead of the screen")
    _add_full(parser)
    _add_jobs(parser)


def _try_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import TryRequest

    words = tuple(arguments.words)
    return TryRequest(
        root=_root(arguments),
        scenarios=tuple(arguments.scenario),
        servers=(),
        **_asked(arguments),
        **_judged(arguments),
        executor="local",
        gate="prefer",
        asked=words[0] if len(words) == 1 else "",
        command=words if len(words) > 1 else (),
        args=arguments.args,
        env=tuple(arguments.env),
        entry=arguments.entry,
        warm_up=tuple(map(tuple, arguments.warm_up)),
        canary=tuple(arguments.canary) if arguments.canary else None,
        before=arguments.before,
        scripts=arguments.scripts,
        bring=tuple(arguments.bring),
        http=arguments.http,
        repo=arguments.repo,
        commit=arguments.commit,
        dirty=arguments.dirty,
        full=arguments.full,
        save=_optional_path(arguments.save),
    )


def _add_score(verbs: Verbs) -> None:
    text = "score a run again from its transcripts, with no Docker"
    parser = _add(verbs, "score", _score_request, text)
    parser.add_argument("run", metavar="RUN")
    _add_json(parser, "one scorecard a line")
    _add_judge(parser)
    _add_judge_spending(parser)


def _score_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import ScoreRequest

    return ScoreRequest(
        root=_root(arguments), run=arguments.run, json=arguments.json, **_judged(arguments)
    )


def _add_report(verbs: Verbs) -> None:
    text = (
        "score a run again, show its report, and write report.md, report.json and report.html; "
        "exit 1 if its files contradict each other"
    )
    parser = _add(verbs, "report", _report_request, text)
    parser.add_argument("run", metavar="RUN")
    _add_judge(parser)
    _add_ungated(parser)
    _add_json(parser)
    _add_full(parser)


def _report_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import ReportRequest

    return ReportRequest(
        root=_root(arguments),
        run=arguments.run,
        judging=_judging(arguments),
        gate=arguments.gate,
        full=arguments.full,
        json=arguments.json,
    )


def _add_attest(verbs: Verbs) -> None:
    text = "write digests of a run, its report and its locks, for verify-report elsewhere"
    parser = _add(verbs, "attest", _attest_request, text)
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--output", metavar="FILE", help="default: stdout")
    _add_ungated(parser)


def _attest_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import AttestRequest

    return AttestRequest(
        root=_root(arguments),
        run=arguments.run,
        gate=arguments.gate,
        output=_optional_path(arguments.output),
    )


def _add_verify_report(verbs: Verbs) -> None:
    text = "make an attested report again from its transcripts; exit 1 names what differs"
    parser = _add(verbs, "verify-report", _verify_report_request, text)
    parser.add_argument("file", metavar="FILE", help="as `fairtrial attest` wrote it")
    parser.add_argument(
        "--run", default="", metavar="RUN", help="name or folder (default: what the file names)"
    )
    _add_json(parser)


def _verify_report_request(arguments: argparse.Namespace) -> Request:
    from pathlib import Path

    from runner.requests import VerifyReportRequest

    return VerifyReportRequest(
        root=_root(arguments), file=Path(arguments.file), run=arguments.run, json=arguments.json
    )


def _add_import(verbs: Verbs) -> None:
    text = "bring in what was run elsewhere, marked as such: transcripts, or a scenario"
    kinds = verbs.add_group("import", text)
    _add_import_claude_code(kinds)
    _add_import_scenario(kinds)


def _add_import_claude_code(kinds: Verbs) -> None:
    text = (
        "make cells of Claude Code's stream-json transcripts, score them, and report them as "
        "imported; several files of one arm are its trials"
    )
    parser = _add(kinds, "claude-code", _import_cells_request, text, verb="import_cells")
    parser.add_argument(
        "file", nargs="+", metavar="[SERVER=]FILE", help="a transcript, of --server or of its own"
    )
    parser.add_argument("--scenario", required=True, metavar="S", help="what it answers")
    parser.add_argument(
        "--server", default="", metavar="X", help="the arm; `shell` is the baseline"
    )
    parser.add_argument(
        "--mounted", default="", metavar="NAME", help="what Claude Code called it (default: X)"
    )
    _add_run_name(parser)
    _add_ungated(parser)
    _add_json(parser, "print report.json instead of the first screen")
    _add_full(parser)


def _import_cells_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import ImportRequest

    return ImportRequest(
        root=_root(arguments),
        files=tuple(arguments.file),
        scenario=arguments.scenario,
        server=arguments.server,
        mounted=arguments.mounted,
        name=arguments.run,
        gate=arguments.gate,
        full=arguments.full,
        json=arguments.json,
    )


def _add_import_scenario(kinds: Verbs) -> None:
    text = (
        "write a scenario and its rubric from the YAML of luuuc/sense's bench, unreviewed: what "
        "its form does not hold (facts, places, a reference) is left out and said"
    )
    parser = _add(kinds, "scenario", _import_scenario_request, text, verb="import_scenario")
    parser.add_argument("file", metavar="FILE", help="<name>.yaml, beside <name>.rubric.yaml")
    parser.add_argument("--rubric", metavar="FILE", help="if it is somewhere else")
    parser.add_argument(
        "--repo", required=True, metavar="PATH_OR_URL", help="the repository it asks about"
    )
    parser.add_argument(
        "--commit", metavar="COMMIT", help="of a URL the full one (default: a path's HEAD)"
    )
    parser.add_argument("--label", default="", metavar="NAME", help="what files call a path's code")
    parser.add_argument("--language", required=True, metavar="NAME", help="such as python")
    parser.add_argument("--id", default="", metavar="NAME", help="default: the file's name")
    parser.add_argument("--tokens", type=_at_least_one, metavar="N", help="the budget's ceiling")
    parser.add_argument("--wall-sec", type=_at_least_one, metavar="N", help="the budget's ceiling")
    _add_json(parser)


def _import_scenario_request(arguments: argparse.Namespace) -> Request:
    from pathlib import Path

    from runner.requests import ImportScenarioRequest

    return ImportScenarioRequest(
        root=_root(arguments),
        file=Path(arguments.file),
        rubric=_optional_path(arguments.rubric),
        repo=arguments.repo,
        commit=arguments.commit,
        label=arguments.label,
        id=arguments.id,
        language=arguments.language,
        tokens=arguments.tokens,
        wall_sec=arguments.wall_sec,
        json=arguments.json,
    )


def _add_scenario(verbs: Verbs) -> None:
    actions = verbs.add_group("scenario", "write a scenario about a repository of your own")
    text = (
        "propose questions whose answers the tree, or a commit that mended something, proves; "
        "written to scenarios/own/, to be finished by hand"
    )
    parser = _add(actions, "new", _new_scenario_request, text, verb="scenario_new")
    _add_own_repository(parser, required=True)
    parser.add_argument("--id", default="", metavar="NAME", help="default: made from the question")
    label_help = "what tracked files call a folder, whose path they never hold (default: own)"
    parser.add_argument("--label", default="", metavar="NAME", help=label_help)
    parser.add_argument(
        "--questions", type=_at_least_one, default=3, metavar="K", help="at most (default: 3)"
    )
    parser.add_argument("--symbol", default="", metavar="NAME", help="ask about this function")
    history_help = "instead of the tree: of N commits that mended something (default: 1)"
    parser.add_argument(
        "--from-history", type=_at_least_one, nargs="?", const=1, metavar="N", help=history_help
    )
    parser.add_argument("--into", metavar="DIR", help="a project (default: this folder)")
    _add_json(parser)


def _add_own_repository(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--repo", required=required, metavar="PATH_OR_URL", help="a folder, or what git can clone"
    )
    commit_help = "any revision of a folder; a URL's branch, tag or full SHA (default: HEAD)"
    parser.add_argument("--commit", metavar="REVISION", help=commit_help)
    dirty_help = "a folder's files as they are, as a commit of their own"
    parser.add_argument("--dirty", action="store_true", help=dirty_help)


def _new_scenario_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import NewScenarioRequest

    return NewScenarioRequest(
        root=_root(arguments),
        repo=arguments.repo,
        commit=arguments.commit,
        dirty=arguments.dirty,
        id=arguments.id,
        label=arguments.label,
        questions=arguments.questions,
        symbol=arguments.symbol,
        from_history=arguments.from_history or 0,
        into=_optional_path(arguments.into),
        json=arguments.json,
    )


def _add_check(verbs: Verbs) -> None:
    text = "prove the scenarios: gold passes, silence and cheats fail"
    parser = _add(verbs, "check", _check_request, text)
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO")
    _add_json(parser)


def _check_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import CheckRequest

    scenarios = tuple(arguments.scenario)
    return CheckRequest(root=_root(arguments), scenarios=scenarios, json=arguments.json)


def _add_init(verbs: Verbs) -> None:
    text = "make a folder a project: your own scenarios and servers, laid over what ships"
    parser = _add(verbs, "init", _init_request, text)
    parser.add_argument("folder", metavar="DIR", nargs="?", default=".", help="default: this one")


def _init_request(arguments: argparse.Namespace) -> Request:
    from pathlib import Path

    from runner.requests import InitRequest

    return InitRequest(root=_root(arguments), folder=Path(arguments.folder).resolve())


def _add_lock(verbs: Verbs) -> None:
    parser = _add(verbs, "lock", _lock_request, "pin every repository and image in locks/")
    check_help = "change nothing; exit 1 if a lock is out of date"
    parser.add_argument("--check", action="store_true", help=check_help)


def _lock_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import LockRequest

    return LockRequest(root=_root(arguments), check=arguments.check)


def _add_server(verbs: Verbs) -> None:
    text = "list the servers, examine some in the sandbox, show one's tools, or call one"
    parser = _add(verbs, "server", _server_request, text)
    parser.add_argument("action", choices=("list", "check", "tools", "call"))
    parser.add_argument(
        "name",
        nargs="*",
        metavar="NAME",
        help="default: every server; tools: NAME; call: NAME TOOL '{\"key\": …}'",
    )
    parser.add_argument(
        "--scenario",
        default="",
        help="whose repository to mount (default: one the server has a canary for)",
    )
    help_text = "every server is MCP-AgentBench's testbed"
    parser.add_argument("--testbed", action="store_true", help=help_text)
    _add_json(parser)


def _server_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import ServerRequest, ServerToolsRequest

    if arguments.action in ("tools", "call"):
        arguments.verb = "server_tools"
        words = [*arguments.name, "", "", ""][:3]
        return ServerToolsRequest(
            root=_root(arguments),
            name=words[0],
            tool=words[1] if arguments.action == "call" else "",
            arguments=words[2] or "{}",
            scenario=arguments.scenario,
            json=arguments.json,
        )
    return ServerRequest(
        root=_root(arguments),
        action=arguments.action,
        names=tuple(arguments.name),
        testbed=arguments.testbed,
        scenario=arguments.scenario,
        json=arguments.json,
    )


def _add_verify_anchors(verbs: Verbs) -> None:
    text = "the gate: anchors unchanged, still ranked as graded by hand; does the judge rank?"
    parser = _add(verbs, "verify-anchors", _verify_anchors_request, text)
    parser.add_argument(
        "--require",
        choices=["screens", "ranks"],
        default="screens",
        help="exit 4 unless the judge does so much (default: screens)",
    )
    _add_json(parser)
    _add_judge(parser)
    _add_judge_spending(parser)


def _verify_anchors_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import VerifyAnchorsRequest

    return VerifyAnchorsRequest(
        root=_root(arguments),
        require=arguments.require,
        json=arguments.json,
        **_judged(arguments),
    )


def _add_anchors(verbs: Verbs) -> None:
    text = "show what a changed rubric does to the anchors, accept it, or grade them anew"
    parser = _add(verbs, "anchors", _anchors_request, text)
    parser.add_argument("action", choices=("propose", "accept", "regrade"))
    parser.add_argument(
        "--reason",
        default="",
        help="what changed, and why; accept and regrade keep it for every later report",
    )
    _add_judge(parser)
    _add_judge_spending(parser)


def _anchors_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import AnchorsRequest

    return AnchorsRequest(
        root=_root(arguments),
        action=arguments.action,
        reason=arguments.reason,
        **_judged(arguments),
    )


def _add_ground(verbs: Verbs) -> None:
    text = "verify the citations of any text or transcript against a commit"
    parser = _add(verbs, "ground", _ground_request, text)
    parser.add_argument(
        "--repo",
        required=True,
        metavar="PATH_OR_URL",
        help="a repository that git can read or clone",
    )
    parser.add_argument(
        "--commit",
        default="HEAD",
        metavar="REVISION",
        help="what the text speaks of: any revision of a folder, a URL's full SHA (default: HEAD)",
    )
    parser.add_argument(
        "--root",
        action="append",
        default=[],
        dest="root_path",
        metavar="PATH",
        help="an absolute path by which the text calls the repository; repeatable",
    )
    strict_help = "exit 1 if a citation is hallucinated"
    parser.add_argument("--strict", action="store_true", help=strict_help)
    _add_json(parser, "one JSON object per file")
    parser.add_argument(
        "file", nargs="+", metavar="FILE", help="Markdown, plain text, or a transcript"
    )


def _ground_request(arguments: argparse.Namespace) -> Request:
    from pathlib import Path

    from runner.requests import GroundRequest

    return GroundRequest(
        root=_root(arguments),
        repo=arguments.repo,
        commit=arguments.commit,
        roots=tuple(arguments.root_path),
        files=tuple(map(Path, arguments.file)),
        strict=arguments.strict,
        json=arguments.json,
    )


def _add_agentbench(verbs: Verbs) -> None:
    text = "MCP-AgentBench: does an agent get real work done with MCP servers?"
    actions = verbs.add_group("agentbench", text)
    _add_agentbench_run(actions)
    _add_agentbench_report(actions)
    _add_agentbench_check(actions)
    _add_agentbench_record(actions)
    _add_agentbench_generate(actions)
    _add_agentbench_annotate(actions)
    _add_agentbench_review(actions)


def _add_agentbench_run(actions: Verbs) -> None:
    text = "put queries to models, each with the tools of many MCP servers in one sandbox"
    parser = _add(actions, "run", _agentbench_run_request, text, verb="agentbench_run")
    suite_help = "a folder of <category>.yaml, or one file (default: scenarios/agentbench)"
    parser.add_argument("--suite", metavar="PATH", help=suite_help)
    _add_repeatable(parser, "--category", "repeatable; such as multi-server-single-call")
    _add_repeatable(parser, "--server", "repeatable; queries that need one of these")
    _add_repeatable(parser, "--id", "repeatable; of one query")
    parser.add_argument("-n", type=_at_least_one, metavar="N", help="only the first N of these")
    parser.add_argument("--list", action="store_true", help="say how many queries there are")
    _add_repeatable(parser, "--model", f"repeatable; {MODEL_HELP}")
    parser.add_argument(
        "--mode",
        choices=("tc", "react"),
        default="tc",
        help="tc: the model's own tool calls; react: reasoning, calls and answer in tagged text "
        "(default: tc)",
    )
    parser.add_argument(
        "--trials", type=_at_least_one, default=1, metavar="N", help="of each query (default: 1)"
    )
    _add_model_limits(parser)
    _add_spending(parser)
    _add_study(parser)
    _add_run_name(parser)
    _add_json(parser)
    _add_jobs(parser)


def _agentbench_run_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import AgentbenchRunRequest

    return AgentbenchRunRequest(
        root=_root(arguments),
        suite=_optional_path(arguments.suite),
        ids=tuple(arguments.id),
        categories=tuple(arguments.category),
        servers=tuple(arguments.server),
        limit=arguments.n,
        mode=arguments.mode,
        list=arguments.list,
        scenarios=(),
        **_asked(arguments),
        prices=_optional_path(arguments.prices),
        run_usd=arguments.max_dollars,
        executor="local",
        gate="skip",
    )


def _add_agentbench_report(actions: Verbs) -> None:
    text = "judge a run's answers by their outcome (MCP-Eval), and report it"
    parser = _add(actions, "report", _agentbench_report_request, text, verb="agentbench_report")
    parser.add_argument("run", metavar="RUN", help="its name under runs/, or its folder")
    parser.add_argument(
        "--judge",
        metavar="NAME",
        help="values, which looks for the reference's values and costs nothing, or model:ID with "
        "an ID as --model takes it (default: as the run was judged before, else values)",
    )
    parser.add_argument(
        "--verdicts",
        metavar="FILE.csv",
        help="write a line for each answer: add a column for each person who judges them, and "
        "`fairtrial agreement` says what the judge is worth",
    )
    _add_judge_spending(parser)
    _add_json(parser)


def _agentbench_report_request(arguments: argparse.Namespace) -> Request:
    from runner.records import Judging
    from runner.requests import AgentbenchReportRequest

    return AgentbenchReportRequest(
        root=_root(arguments),
        run=arguments.run,
        judging=Judging(judges=(arguments.judge,), duplicates=1) if arguments.judge else None,
        verdicts=_optional_path(arguments.verdicts),
        prices=_optional_path(arguments.prices),
        run_usd=arguments.max_dollars,
        json=arguments.json,
    )


def _add_agentbench_check(actions: Verbs) -> None:
    text = "prove the queries: shape, answer, and each trajectory executed again in the sandbox"
    parser = _add(actions, "check", _agentbench_check_request, text, verb="agentbench_check")
    source_help = "a folder of <category>.yaml, or one file (default: scenarios/agentbench)"
    parser.add_argument("source", nargs="?", metavar="QUERIES", help=source_help)
    _add_repeatable(parser, "--id", "repeatable; of one query")
    _add_repeatable(parser, "--category", "repeatable; such as single-server-parallel-call")
    parser.add_argument(
        "--unreviewed", action="store_true", help="also queries that nobody has read yet"
    )
    parser.add_argument("--static", action="store_true", help="execute nothing: no engine needed")
    _add_json(parser)


def _agentbench_check_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import QueriesRequest

    return QueriesRequest(
        root=_root(arguments),
        source=_optional_path(arguments.source),
        ids=tuple(arguments.id),
        categories=tuple(arguments.category),
        unreviewed=arguments.unreviewed,
        static=arguments.static,
        json=arguments.json,
    )


def _add_agentbench_record(actions: Verbs) -> None:
    text = "fill in what the tools of a draft's calls answer, each executed twice"
    parser = _add(actions, "record", _agentbench_record_request, text, verb="agentbench_record")
    parser.add_argument("file", metavar="FILE", help="of queries; it is written anew")
    _add_repeatable(parser, "--id", "repeatable; also if it is recorded (default: all without)")


def _agentbench_record_request(arguments: argparse.Namespace) -> Request:
    from pathlib import Path

    from runner.requests import RecordRequest

    return RecordRequest(root=_root(arguments), file=Path(arguments.file), ids=tuple(arguments.id))


def _add_agentbench_generate(actions: Verbs) -> None:
    text = "have a model write queries for servers; nothing of it is in a suite until it is read"
    parser = _add(
        actions, "generate", _agentbench_generate_request, text, verb="agentbench_generate"
    )
    parser.add_argument("file", metavar="DRAFTS", help="made, or added to")
    _add_repeatable(parser, "--server", "repeatable; to write for (default: the whole testbed)")
    _add_repeatable(parser, "--category", "repeatable (default: all six)")
    parser.add_argument(
        "-n", type=_at_least_one, default=1, metavar="N", help="of each category (default: 1)"
    )
    parser.add_argument(
        "--seed", type=_whole_number, default=0, metavar="N", help="draws the servers (default: 0)"
    )
    _add_writer(parser)


def _agentbench_generate_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import GenerateRequest

    return GenerateRequest(
        **_writer(arguments),
        servers=tuple(arguments.server),
        categories=tuple(arguments.category),
        count=arguments.n,
        seed=arguments.seed,
    )


def _add_agentbench_annotate(actions: Verbs) -> None:
    text = "have a model try each draft several times, and propose a reference or ask for an expert"
    parser = _add(
        actions, "annotate", _agentbench_annotate_request, text, verb="agentbench_annotate"
    )
    parser.add_argument("file", metavar="DRAFTS")
    _add_repeatable(parser, "--id", "repeatable; also if it was tried (default: all untried)")
    parser.add_argument("--mode", choices=("tc", "react"), default="tc", help="as in run")
    parser.add_argument(
        "-k", type=_at_least_one, default=5, metavar="K", help="trajectories of each (default: 5)"
    )
    parser.add_argument(
        "--judge",
        default="rules",
        metavar="NAME",
        help="rules, or model:ID with an ID as --model takes it (default: rules)",
    )
    _add_writer(parser)


def _agentbench_annotate_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import AnnotateRequest

    return AnnotateRequest(
        **_writer(arguments),
        ids=tuple(arguments.id),
        mode=arguments.mode,
        tries=arguments.k,
        judge=arguments.judge,
    )


def _add_agentbench_review(actions: Verbs) -> None:
    text = "read drafts, and decide on them: what is accepted goes into a suite"
    parser = _add(actions, "review", _agentbench_review_request, text, verb="agentbench_review")
    parser.add_argument("file", metavar="DRAFTS")
    parser.add_argument("--id", default="", metavar="NAME", help="of one draft (default: list all)")
    parser.add_argument(
        "--action",
        choices=("accept", "revise", "refine", "author", "reject"),
        default="",
        help="revise: another query, to be tried again; refine: another answer; author: another "
        "trajectory and answer (default: show the draft)",
    )
    parser.add_argument("--reviewer", default="", metavar="NAME", help="who reads")
    parser.add_argument("--note", default="", metavar="TEXT", help="why")
    parser.add_argument("--query", default="", metavar="TEXT", help="of revise")
    parser.add_argument(
        "--from", dest="edited", metavar="FILE", help="of refine and author: the edited query"
    )
    parser.add_argument("--edit-to", metavar="FILE", help="write what to start editing from")
    parser.add_argument("--into", metavar="PATH", help="file or folder of queries that takes it")
    parser.add_argument("--static", action="store_true", help="execute nothing before it is taken")


def _agentbench_review_request(arguments: argparse.Namespace) -> Request:
    from pathlib import Path

    from runner.requests import ReviewRequest

    return ReviewRequest(
        root=_root(arguments),
        file=Path(arguments.file),
        id=arguments.id,
        action=arguments.action,
        reviewer=arguments.reviewer,
        note=arguments.note,
        query=arguments.query,
        edited=_optional_path(arguments.edited),
        edit_to=_optional_path(arguments.edit_to),
        into=_optional_path(arguments.into),
        static=arguments.static,
    )


def _add_writer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="offline", metavar="NAME", help=MODEL_HELP)
    _add_turn_limits(parser)
    parser.add_argument(
        "--prices", metavar="FILE", help="dollars per million tokens (default: runner/prices.yaml)"
    )
    parser.add_argument(
        "--max-dollars", type=_dollars, metavar="USD", help="what it may cost; it can go on later"
    )


def _writer(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of DraftsRequest."""
    from pathlib import Path

    return {
        "root": _root(arguments),
        "file": Path(arguments.file),
        "model": arguments.model,
        "threads": arguments.threads,
        "context_tokens": arguments.context_tokens,
        "thinking_tokens": arguments.thinking_tokens,
        "output_tokens": arguments.output_tokens,
        "prices": _optional_path(arguments.prices),
        "run_usd": arguments.max_dollars,
    }


def _add_toolbench(verbs: Verbs) -> None:
    text = "MCPToolBench++: does a model find, choose and call the right MCP tools?"
    actions = verbs.add_group("toolbench", text)
    _add_toolbench_run(actions)
    _add_toolbench_score(actions)
    _add_toolbench_report(actions)
    _add_toolbench_confuse(actions)
    _add_toolbench_check(actions)


def _add_task_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="files or folders of the benchmark's data, or URLs"
    )
    _add_repeatable(parser, "--difficulty", "repeatable; easy, single, hard, multi or medium")
    _add_repeatable(parser, "--category", "repeatable; such as browser; case does not matter")
    parser.add_argument(
        "-n", type=_at_least_one, metavar="N", help="only the first N of these tasks"
    )
    parser.add_argument("--list", action="store_true", help="say how many tasks there are of each")


def _task_choice(arguments: argparse.Namespace) -> TaskChoice:
    from runner.requests import TaskChoice

    return TaskChoice(
        data=tuple(arguments.data),
        difficulties=tuple(arguments.difficulty),
        categories=tuple(arguments.category),
        limit=arguments.n,
    )


def _add_compat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--compat", choices=("mcpbr",), default="", help="score as that tool does, to the letter"
    )


def _add_toolbench_run(actions: Verbs) -> None:
    text = "put tasks to models, score the calls that they ask for, and report; nothing is executed"
    parser = _add(actions, "run", _toolbench_run_request, text, verb="toolbench_run")
    _add_task_choice(parser)
    _add_repeatable(parser, "--model", f"repeatable; {MODEL_HELP}")
    parser.add_argument(
        "--mode",
        choices=("native", "json"),
        default="native",
        help="native: the tools go to the API as tools; json: one prompt that asks for a JSON "
        "array (default: native)",
    )
    parser.add_argument(
        "--prompt",
        metavar="FILE",
        help="another prompt, with {problem_statement} or {query} where the task has to stand",
    )
    parser.add_argument(
        "--variant",
        metavar="FILE",
        help="a server.yaml with other names or descriptions of tools, measured beside them",
    )
    parser.add_argument(
        "--trials", type=_at_least_one, default=1, metavar="N", help="of each task (default: 1)"
    )
    _add_model_limits(parser)
    _add_spending(parser)
    _add_study(parser)
    _add_run_name(parser)
    _add_json(parser, "print report.json instead of the tables")
    _add_jobs(parser)


def _toolbench_run_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import ToolbenchRunRequest

    return ToolbenchRunRequest(
        root=_root(arguments),
        chosen=_task_choice(arguments),
        mode=arguments.mode,
        prompt=_optional_path(arguments.prompt),
        variant=_optional_path(arguments.variant),
        list=arguments.list,
        scenarios=(),
        servers=(),
        **_asked(arguments),
        prices=_optional_path(arguments.prices),
        run_usd=arguments.max_dollars,
        executor="local",
        gate="skip",
    )


def _add_toolbench_score(actions: Verbs) -> None:
    text = "score answers from a file, or a run again from its transcripts (DATA is its name then)"
    parser = _add(actions, "score", _toolbench_score_request, text, verb="toolbench_score")
    _add_task_choice(parser)
    parser.add_argument(
        "--responses", metavar="FILE", help="what was answered: {uuid: answer}, or lines of JSON"
    )
    _add_compat(parser)
    _add_json(parser)


def _toolbench_score_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import ToolbenchRequest

    return ToolbenchRequest(
        root=_root(arguments),
        chosen=_task_choice(arguments),
        responses=_optional_path(arguments.responses),
        list=arguments.list,
        compat=arguments.compat,
        json=arguments.json,
    )


def _add_toolbench_check(actions: Verbs) -> None:
    text = "score the data's own labels (all must resolve), and list what is wrong with the data"
    parser = _add(actions, "check", _toolbench_check_request, text, verb="toolbench_check")
    _add_task_choice(parser)
    _add_json(parser)


def _toolbench_check_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import ToolbenchRequest

    return ToolbenchRequest(
        root=_root(arguments),
        chosen=_task_choice(arguments),
        responses=None,
        list=arguments.list,
        compat="",
        json=arguments.json,
    )


def _add_toolbench_report(actions: Verbs) -> None:
    text = "report a run of tasks again, from its transcripts and its data"
    parser = _add(actions, "report", _toolbench_report_request, text, verb="toolbench_report")
    parser.add_argument("run", metavar="RUN", help="its name under runs/, or its folder")
    _add_compat(parser)
    _add_json(parser)


def _toolbench_report_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import ToolbenchReportRequest

    return ToolbenchReportRequest(
        root=_root(arguments),
        run=arguments.run,
        compat=arguments.compat,
        json=arguments.json,
    )


def _add_toolbench_confuse(actions: Verbs) -> None:
    text = (
        "which tools a model takes for which others; of two runs, two responses, or runs with "
        "--variant, also what changed, task by task"
    )
    parser = _add(actions, "confuse", _toolbench_confuse_request, text, verb="toolbench_confuse")
    parser.add_argument(
        "source",
        nargs="*",
        metavar="RUN|SERVER",
        help="runs (default: all runs of tasks), and servers whose tools are shown (default: all); "
        "with --responses, the data they answer",
    )
    _add_repeatable(parser, "--responses", "repeatable; a file of answers, as `score` reads it")
    _add_repeatable(parser, "--server", "repeatable; only tools of this server")
    parser.add_argument(
        "--variant", metavar="FILE", help="only runs made with this server.yaml (`run --variant`)"
    )
    _add_json(parser)


def _toolbench_confuse_request(arguments: argparse.Namespace) -> Request:
    from pathlib import Path

    from runner.requests import ConfuseRequest

    return ConfuseRequest(
        root=_root(arguments),
        sources=tuple(arguments.source),
        responses=tuple(map(Path, arguments.responses)),
        servers=tuple(arguments.server),
        variant=_optional_path(arguments.variant),
        json=arguments.json,
    )


def _add_judge_verb(verbs: Verbs) -> None:
    text = (
        "judge any answer to a scenario (quality, steps, criteria, each fact), "
        "or the answers of a run again"
    )
    parser = _add(verbs, "judge", _judge_request, text)
    parser.add_argument("run", nargs="?", default="", metavar="RUN")
    parser.add_argument("--scenario", default="", help="whose rubric to judge by")
    parser.add_argument(
        "--answer",
        metavar="FILE",
        help='a transcript (.jsonl), or JSON {"steps": [{"name": …, "text": …}]}',
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="of a run: say what it would take, and spend nothing",
    )
    parser.add_argument(
        "--pairwise",
        action="store_true",
        help="of a run: compare the answers of close arms with the shell's side by side, in both "
        "orders; a preference that the order decides is a tie",
    )
    _add_judge(parser)
    _add_judge_spending(parser)
    _add_json(parser)
    parser.set_defaults(refuse=parser.error)


def _judge_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import JudgeRequest

    is_answer = bool(arguments.scenario and arguments.answer)
    if bool(arguments.run) == bool(arguments.scenario or arguments.answer) or (
        not arguments.run and not is_answer
    ):
        arguments.refuse("give RUN, or --scenario S with --answer FILE")
    if (arguments.dry_run or arguments.pairwise) and not arguments.run:
        arguments.refuse("--dry-run and --pairwise are of a RUN")
    return JudgeRequest(
        root=_root(arguments),
        run=arguments.run,
        scenario=arguments.scenario,
        answer=_optional_path(arguments.answer),
        dry_run=arguments.dry_run,
        pairwise=arguments.pairwise,
        json=arguments.json,
        **_judged(arguments),
    )


def _add_judge_noise(verbs: Verbs) -> None:
    text = "how far a judge's readings of one answer lie apart, and what may be ranked"
    parser = _add(verbs, "judge-noise", _judge_noise_request, text)
    parser.add_argument("run", metavar="RUN")
    _add_json(parser)


def _judge_noise_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import JudgeNoiseRequest

    return JudgeNoiseRequest(root=_root(arguments), run=arguments.run, json=arguments.json)


def _add_agreement(verbs: Verbs) -> None:
    text = "how far raters agree, beyond chance: judges with people, people among themselves"
    parser = _add(verbs, "agreement", _agreement_request, text)
    parser.add_argument(
        "file",
        metavar="FILE.csv",
        help="a line for each item, a column for each rater; an item that one of those compared "
        "left blank, or on which people have no majority, is left out and counted",
    )
    _add_repeatable(
        parser, "--people", "repeatable; a column whose majority judges are held against"
    )
    _add_repeatable(parser, "--rater", "repeatable; the other raters (default: all columns left)")
    parser.add_argument(
        "--item",
        default="",
        metavar="NAME",
        help="the column that names items (default: the first)",
    )
    parser.add_argument(
        "--category",
        default="",
        metavar="NAME",
        help="a column to part the items by (default: `category`, if there is one)",
    )
    _add_json(parser)


def _agreement_request(arguments: argparse.Namespace) -> Request:
    from pathlib import Path

    from runner.requests import AgreementRequest

    return AgreementRequest(
        root=_root(arguments),
        file=Path(arguments.file),
        people=tuple(arguments.people),
        raters=tuple(arguments.rater),
        item=arguments.item,
        category=arguments.category,
        json=arguments.json,
    )


def _add_clean(verbs: Verbs) -> None:
    text = (
        "remove what killed runners left; "
        "with --all every container, volume, image and cache of ours"
    )
    parser = _add(verbs, "clean", _clean_request, text)
    parser.add_argument("--all", action="store_true")


def _clean_request(arguments: argparse.Namespace) -> Request:
    from runner.requests import CleanRequest

    return CleanRequest(root=_root(arguments), everything=arguments.all)


# --- options of several verbs -------------------------------------------------------------------


def _add_run_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--run",
        default="",
        metavar="NAME",
        help="the run's folder under runs/ (default: made from what is asked)",
    )


def _add_model_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent",
        default="",
        metavar="NAME",
        help="how it calls tools: tool_calling, react or json_actions "
        f"(default: {AGENT}, and json_actions for local weights)",
    )
    _add_turn_limits(parser)


def _add_turn_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=_at_least_one,
        default=_half_of_the_processors(),
        metavar="N",
        help="for local weights (default: half of this machine's)",
    )
    parser.add_argument(
        "--context-tokens",
        type=_at_least_one,
        default=CONTEXT_TOKENS,
        metavar="N",
        help=f"room for a conversation with local weights (default: {CONTEXT_TOKENS})",
    )
    parser.add_argument(
        "--thinking-tokens",
        type=_whole_number,
        default=TURN_TOKENS,
        metavar="N",
        help=f"a turn's, at most; 0 for none (default: {TURN_TOKENS})",
    )
    parser.add_argument(
        "--output-tokens",
        type=_at_least_one,
        default=TURN_TOKENS,
        metavar="N",
        help=f"a turn's, at most, thinking apart (default: {TURN_TOKENS})",
    )


def _add_spending(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what it would take and could find, and spend nothing",
    )
    parser.add_argument(
        "--prices", metavar="FILE", help="dollars per million tokens (default: runner/prices.yaml)"
    )
    parser.add_argument(
        "--cell-dollars", type=_dollars, metavar="USD", help="what one cell may cost"
    )
    parser.add_argument(
        "--max-dollars",
        type=_dollars,
        metavar="USD",
        help="what the run may cost, every attempt counted; the run ends there and can go on",
    )


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed",
        type=_whole_number,
        metavar="N",
        help="draws the order of the arms in each block (default: made from the run's name)",
    )
    parser.add_argument(
        "--pass-at",
        type=_unit,
        metavar="F",
        help="the fairness from which on a trial passes, for pass^k (default: 0.5)",
    )
    parser.add_argument(
        "--api-jobs",
        type=_at_least_one,
        metavar="N",
        help="requests at a time at one provider, over all cells; waiting is no agent's time",
    )


def _add_full(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--full", action="store_true", help="every table, not the first screen")


def _add_json(parser: argparse.ArgumentParser, text: str = "for scripts") -> None:
    parser.add_argument("--json", action="store_true", help=text)


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=_at_least_one,
        default=1,
        metavar="N",
        help=(
            "blocks at a time (a block: all arms of one scenario, model and trial, one after "
            "another); more than 1 makes seconds noisier"
        ),
    )


def _add_ungated(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ungated",
        action="store_const",
        const="skip",
        default="require",
        dest="gate",
        help="go on without a passing gate; every page of the result says UNGATED",
    )


def _add_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="NAME",
        help="checklist, model:ID with an ID as --model takes it, or local:PATH.gguf, weights on "
        "this machine; several make a panel, whose median counts (default: as the run was judged "
        "before, else checklist)",
    )
    parser.add_argument(
        "--judge-form",
        choices=("tool", "schema"),
        default="tool",
        help="schema: for a model whose native tool calls fail (default: tool)",
    )
    parser.add_argument(
        "--judge-batch",
        type=_at_least_one,
        default=8,
        metavar="N",
        help="facts of one request, at most (default: 8)",
    )
    parser.add_argument(
        "--judge-seed",
        type=_whole_number,
        default=0,
        metavar="N",
        help="of the order of facts (default: 0)",
    )
    parser.add_argument(
        "--duplicates",
        type=_at_least_one,
        default=2,
        metavar="N",
        help="a model's readings of each answer; their mean counts (default: 2)",
    )


def _add_judge_spending(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prices", metavar="FILE", help="dollars per million tokens (default: runner/prices.yaml)"
    )
    parser.add_argument(
        "--max-dollars",
        type=_dollars,
        metavar="USD",
        help="what judging may cost, earlier judging of the run counted",
    )


def _judging(arguments: argparse.Namespace) -> Judging | None:
    """None if no judge is named: a run is then judged as it was before."""
    from runner.records import Judging

    if not arguments.judge:
        return None
    return Judging(
        judges=tuple(arguments.judge),
        form=arguments.judge_form,
        batch=arguments.judge_batch,
        seed=arguments.judge_seed,
        duplicates=arguments.duplicates,
    )


def _asked(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of RunRequest that say which models are asked, how often and within what."""
    return {
        "models": tuple(arguments.model) or ("offline",),
        "agent": arguments.agent,
        "threads": arguments.threads,
        "context_tokens": arguments.context_tokens,
        "thinking_tokens": arguments.thinking_tokens,
        "output_tokens": arguments.output_tokens,
        "cell_usd": arguments.cell_dollars,
        "dry_run": arguments.dry_run,
        "trials": arguments.trials,
        "jobs": arguments.jobs,
        "api_jobs": arguments.api_jobs,
        "seed": arguments.seed,
        "pass_at": arguments.pass_at,
        "name": arguments.run,
        "json": arguments.json,
    }


def _judged(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of JudgedRequest; its weights are looked for when the verb starts."""
    return {
        "judging": _judging(arguments),
        "prices": _optional_path(arguments.prices),
        "run_usd": arguments.max_dollars,
    }


def _add_repeatable(parser: argparse.ArgumentParser, option: str, text: str) -> None:
    parser.add_argument(option, action="append", default=[], metavar="NAME", help=text)


def _half_of_the_processors() -> int:
    # The other half is the container's, where commands and the server run.
    return max(1, (os.cpu_count() or 1) // 2)


def _at_least_one(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _dollars(text: str) -> float:
    try:
        dollars = float(text)
    except ValueError:
        dollars = 0.0
    if not 0 < dollars < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of dollars")
    return dollars


def _unit(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no figure from 0 to 1")
    return share


def _optional_path(text: str | None) -> Path | None:
    from pathlib import Path

    return Path(text) if text else None


def _whole_number(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)
