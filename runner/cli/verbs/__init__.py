"""The verbs, in the order of help: each is the module of its name, with `Verb` and `run`.

`Verb` is its request, a `Request` (or `RunRequest`) whose fields say with which words a person
fills them (cli/options.py); `run` takes it and returns an exit code. What takes long to import is
imported in it, and named in annotations through cli/shapes.py. `--help` reads this table alone.
"""

from __future__ import annotations

from keyword import iskeyword

VERBS = {
    "demo": "compare the shell with two servers on two scenarios, and write the report",
    "init": "make a folder a project: your own scenarios and servers, laid over what ships",
    "cell": "run one cell: a scenario with a server",
    "cell show": "page through one cell of a run: what was asked, called and said, and what holds "
    "of it",
    "try": "a server by its name: install it, find a health probe, and compare it with the shell",
    "compare": "a server's new version against its last: what broke, and what got dearer; a gate "
    "for its pull requests",
    "trend": "a server's figure by version, over the runs of a folder, as a table and a drawing",
    "run": "run scenarios × servers × models × trials, score them, and write the report",
    "merge": "make one run of the shards that several machines ran (`run --shard`)",
    "executor": "run cells on several machines: a scheduler, its workers, and what they exchange",
    "executor scheduler": "start the scheduler that workers and runs (`run --executor dask://…`) "
    "talk to",
    "executor worker": "take blocks of runs from a scheduler, in a checkout on this machine",
    "executor check": "ask a folder, an SFTP server or a bucket for what workers need of it",
    "executor tell": "have a run on a cluster pause, go on, or end once what is under way has",
    "score": "score a run again from its transcripts, with no Docker",
    "report": "score a run again, show its report, and write report.md, report.json and "
    "report.html (`--open` shows it); exit 1 if its files contradict each other",
    "attest": "write digests of a run, its report and its locks, for verify-report elsewhere",
    "verify-report": "make an attested report again from its transcripts; exit 1 names what "
    "differs",
    "import": "bring in what was run elsewhere, marked as such: transcripts, or a scenario",
    "import claude-code": "make cells of Claude Code's stream-json transcripts, score them, and "
    "report them as imported; several files of one arm are its trials",
    "import scenario": "write a scenario and its rubric from the YAML of luuuc/sense's bench, "
    "unreviewed: what its form does not hold (facts, places, a reference) is left out and said",
    "scenario": "write a scenario about a repository of your own",
    "scenario new": "propose questions whose answers the tree, or a commit that mended something, "
    "proves; written to scenarios/own/, to be finished by hand",
    "exact": "questions whose whole answer is known: no judge is needed",
    "exact make": "ask about a repository what its tree proves, and keep what other programs "
    "confirm; written to scenarios/exact/",
    "exact check": "hold every key against programs that know its language, in the sandbox",
    "check": "prove the scenarios: gold passes, silence and cheats fail",
    "lock": "pin every repository and image in locks/",
    "server": "list the servers, examine some in the sandbox, show one's tools, or call one",
    "verify-anchors": "the gate: anchors unchanged, still ranked as graded by hand; does the judge "
    "rank?",
    "anchors": "show what a changed rubric does to the anchors, accept it, or grade them anew",
    "ground": "verify the citations of any text or transcript against a commit",
    "toolbench": "MCPToolBench++: does a model find, choose and call the right MCP tools?",
    "toolbench run": "put tasks to models, score the calls that they ask for, and report; nothing "
    "is executed",
    "toolbench score": "score answers from a file, or a run again from its transcripts (DATA is "
    "its name then)",
    "toolbench report": "report a run of tasks again, from its transcripts and its data",
    "toolbench confuse": "which tools a model takes for which others; of two runs, two responses, "
    "or runs with --variant, also what changed, task by task",
    "toolbench check": "score the data's own labels (all must resolve), and list what is wrong "
    "with the data",
    "agentbench": "MCP-AgentBench: does an agent get real work done with MCP servers?",
    "agentbench run": "put queries to models, each with the tools of many MCP servers in one "
    "sandbox",
    "agentbench report": "judge a run's answers by their outcome (MCP-Eval), and report it",
    "agentbench check": "prove the queries: shape, answer, and each trajectory executed again in "
    "the sandbox",
    "agentbench record": "fill in what the tools of a draft's calls answer, each executed twice",
    "agentbench generate": "have a model write queries for servers; nothing of it is in a suite "
    "until it is read",
    "agentbench annotate": "have a model try each draft several times, and propose a reference or "
    "ask for an expert",
    "agentbench review": "read drafts, and decide on them: what is accepted goes into a suite",
    "judge": "judge any answer to a scenario (quality, steps, criteria, each fact), or the answers "
    "of a run again",
    "judge-noise": "how far a judge's readings of one answer lie apart, and what may be ranked",
    "agreement": "how far raters agree, beyond chance: judges with people, people among themselves",
    "clean": "remove what killed runners left; with --all every container, volume, image and cache "
    "of ours",
}
"""A verb's words → what it is for. A word with others behind it, such as `import`, is no verb."""


BESIDE = ("cell show",)
"""Verbs of two words whose first is a verb too, and no group."""


def is_group(name: str) -> bool:
    return any(verb.startswith(f"{name} ") for verb in VERBS if verb not in BESIDE)


def module_of(verb: str) -> str:
    name = verb.replace(" ", "_").replace("-", "_")
    return f"{__name__}.{name}_" if iskeyword(name) else f"{__name__}.{name}"
