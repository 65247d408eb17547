"""A commit that mended something becomes a question about the commit before it.

What it changed is the answer: the files and lines that were there before. A cell's container holds
the earlier commit alone, so that nothing in it gives the answer away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from runner.authoring.drafting.questions import StepDraft, lines_of, places_of, proposal
from runner.authoring.drafting.syntax import Parsed, parse
from runner.authoring.drafting.tree import PROSE, TEST_PATH
from runner.grounding.commit_files import GitFiles
from runner.records import Check, CommitSha, Fact
from runner.repositories.repository import git_at, run_git

_LOOKED_AT = 3_000
"""Commits of the newest that say that they mend something."""
FEWEST_FILES, MOST_FILES = 3, 12
_FEWEST_CODE = 2
_FEWEST_PLACES, _MOST_PLACES = 3, 16
_MENDS = r"(^|[^a-z])(fix(e[sd])?|bugs?|bugfix|close[sd]?|resolve[sd]?)([^a-z]|$)"
_CHORES = re.compile(
    r"\b(?:typos?|lint\w*|format(?:ting)?|style|docs?|documentation|readme|changelog|ci|build|deps?|"
    r"bump|release|version|rename\w*|refactor\w*|tests?|flaky|spelling|comments?|merge|revert|"
    r"warnings?|workflow|mypy|ruff|eslint|clippy|rubocop)\b",
    re.I,
)
_LOCKS = re.compile(
    r"lock|(?:^|/)\.|(?:^|/)(?:Makefile|Dockerfile)|^go\.sum$|(?:^|/)(?:package\.json|go\.mod|Gemfile|Cargo\.toml)$"
)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+")
_ISSUE = r"\(?(?:#|\bGH-?)\d+\)?"
_CLOSES = rf",?\s*\(?\b(?i:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+{_ISSUE}"
_FEWEST_WORDS = 3
_NEAR = 10
_IMPORT = re.compile(
    rb"\s*(?:import\b|from\b|use\b|using\b|require|#\s*include|\"[\w./-]+\"\s*$|$)"
)
"""A line that only names what the real change needs."""


class ChangedLines(NamedTuple):
    """Lines of the parent's file that the commit changes."""

    start: int
    end: int
    only_adds: bool
    """Nothing of them changes: new lines are put behind the first."""


@dataclass(frozen=True, kw_only=True)
class Fix:
    """A commit, and what it changed of the files that were there before it."""

    commit: CommitSha
    parent: CommitSha
    subject: str
    """Without numbers of issues, and without the names that give the answer away."""
    changes: tuple[tuple[str, tuple[ChangedLines, ...]], ...]
    """Of each file that was there before, by its path."""


def fixes(place: Path, head: CommitSha) -> Iterator[Fix]:
    """The newest first, of all that `head` leads to. `place`: a git directory with its history."""
    git = git_at(place)
    listed = run_git(
        git,
        *("log", "--no-merges", f"--max-count={_LOOKED_AT}", "--extended-regexp"),
        *("--regexp-ignore-case", f"--grep={_MENDS}", "--format=%H %P%x09%s", head),
    )
    for line in listed.splitlines():
        commits, _, subject = line.partition("\t")
        commit, _, parent = commits.partition(" ")
        # The message may close an issue whose subject says nothing of a fault; and the other way.
        if parent and re.search(_MENDS, subject, re.I) and not _CHORES.search(subject):
            diff = ("diff", "--unified=0", "--no-renames", "--no-color", "--no-ext-diff")
            changed = run_git(git, *diff, "--no-textconv", parent, commit)
            if fix := _fix(commit, parent, subject, changed):
                yield fix


def _fix(commit: CommitSha, parent: CommitSha, subject: str, diff: str) -> Fix | None:
    changes = dict(_changes(diff))
    code = {
        path: tuple(_joined(hunks))
        for path, hunks in changes.items()
        if hunks and not (PROSE.search(path) or TEST_PATH.search(path) or _LOCKS.search(path))
    }
    few = FEWEST_FILES <= len(changes) <= MOST_FILES and len(code) >= _FEWEST_CODE
    if not few or sum(map(len, code.values())) > _MOST_PLACES:
        return None
    said = said_without_answer(subject, diff)
    if said is None:
        return None
    changed = tuple(sorted(code.items()))
    return Fix(commit=commit, parent=parent, subject=said, changes=changed)


def _changes(diff: str) -> Iterator[tuple[str, list[ChangedLines]]]:
    """Path before -> what changes, for each file; nothing for a file that is new."""
    for part in re.split(r"^diff --git ", diff, flags=re.M)[1:]:
        before = re.search(r"^--- (?:a/(.*)|\S+)$", part, re.M)
        path = before[1] if before and before[1] else part.partition("\n")[0]
        found = []
        for line in part.splitlines():
            if before and before[1] and (hunk := _HUNK.match(line)):
                start, count = int(hunk[1]), int(hunk[2] or 1)
                last = max(start + max(count, 1) - 1, 1)
                found.append(ChangedLines(max(start, 1), last, only_adds=count == 0))
        yield path, found


def _joined(hunks: Sequence[ChangedLines]) -> Iterator[ChangedLines]:
    """Changes of neighbouring lines are one place."""
    start, end, only_adds = hunks[0]
    for hunk in hunks[1:]:
        if hunk.start - end > _NEAR:
            yield ChangedLines(start, end, only_adds)
            start, only_adds = hunk.start, True
        end, only_adds = max(end, hunk.end), only_adds and hunk.only_adds
    yield ChangedLines(start, end, only_adds)


def said_without_answer(subject: str, diff: str) -> str | None:
    """What the commit mends, in words; None if too little is left that gives nothing away."""
    said = re.sub(rf"{_CLOSES}|^\s*\[[^\]]*\]\s*|^\w+(?:\([^)]*\))?!?:\s+|{_ISSUE}", "", subject)
    said = re.sub(r"^\W*(?:bug)?fix(?:e[sd])?\b:?", "", said.strip(), flags=re.I)
    words = [_without_names(word, diff) for word in said.split()]
    told = [word for word in words if word != "…"]
    if len(told) < _FEWEST_WORDS or len(told) < len(words) - 1:
        return None
    return " ".join(words).strip(" .,:-")


def _without_names(word: str, diff: str) -> str:
    """`…` in place of a name that the change holds: it would give away where to look."""
    bare = word.strip("`'\"()[],.:;!?*")
    looks_so = bool(re.search(r"`|_|::|\(\)|[a-z][A-Z]|\w\.\w|/|^[A-Z]\w*[A-Z]|#", word))
    name = re.split(r"::|[.#/(]", bare)[-1] or bare
    return "…" if looks_so and name and name in diff else word


# --- the question ---------------------------------------------------------------------------------


def question(fix: Fix, files: GitFiles) -> StepDraft | None:
    """`files`: of the parent. None if too few places are left that hold more than an import."""
    facts: list[Fact] = []
    names: list[str] = []
    # What is no file is another repository, mounted here.
    known = files.paths()
    for path, changes in (it for it in fix.changes if it[0] in known):
        source = files.read(path)
        parsed = parse(path, source, files.blob_sha(path))
        for change in changes:
            lines = source.split(b"\n")[change.start - 1 : change.end]
            around = _around(parsed, change)
            # What is new and in nothing could as well be put elsewhere.
            if not all(map(_IMPORT.match, lines)) and (around or not change.only_adds):
                names += [around] if around else []
                facts.append(_fact(path, around, change))
    if len(facts) < _FEWEST_PLACES or len({fact.cites[0].path for fact in facts}) < _FEWEST_CODE:
        return None
    return _proposal(fix, tuple(facts), names)


def _around(parsed: Parsed | None, change: ChangedLines) -> str:
    """The function, or else the class, that all of the lines are in."""
    if parsed is None:
        return ""
    # What is put behind a function's last line is in it no more.
    last = change.end + change.only_adds
    around = [
        it
        for it in parsed.outline.definitions
        if it.start < it.end and it.start <= change.start and last <= it.end
    ]
    inner = max(around, key=lambda it: (it.start, -it.end), default=None)
    return inner.name if inner else ""


def _fact(path: str, around: str, change: ChangedLines) -> Fact:
    start, end, _ = change
    where = f"{path}:{start}" if end <= start else f"{path}:{start}-{end}"
    place = lines_of(path, start, end)
    file = path.rpartition("/")[2]
    says = f"what has to change is {around or file} ({where})"
    return Fact(says=says, terms=((around or file,),), cites=(place,))


def _proposal(fix: Fix, facts: tuple[Fact, ...], names: Iterable[str]) -> StepDraft:
    prompt = (
        f"What has to change in this repository for this: “{fix.subject}”? Name every file and"
        " function that has to be edited, with path:line, and say what is wrong there today."
    )
    checks = [Check(kind="word", value=it) for it in dict.fromkeys(names) if it not in prompt]
    checks = [it for it in checks if len(str(it.value)) > 3][:6]
    paths = dict.fromkeys(place.path for place in places_of(facts))
    files = dict.fromkeys(path.rpartition("/")[2] for path in paths)
    checks += [Check(kind="contains", value=it, required=False) for it in files]
    checks.append(Check(kind="min_files", value=min(len(paths), 4)))
    return proposal(
        name=f"fix-{fix.commit[:7]}",
        prompt=prompt,
        proven={"places": (0.6, "Is every place there?", facts)},
        left=("cause", "what is wrong today, and why"),
        about=f"what has to change for “{fix.subject}” ({fix.commit[:12]} did): {len(paths)} files",
        checks=checks,
    )
