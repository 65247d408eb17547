"""The offline navigator's answer: what a search has seen, each claim with its place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from runner.agents.models.offline.findings import Finding
from runner.agents.models.offline.rows import MAX_TEXT_CHARS
from runner.agents.models.offline.search import Search, ServerCalls

SHOWN = 14
"""Uses of the names that an answer lists, in the code and again in the tests."""
CODE_CHARS = 100
"""Of a line that is shown."""
_TESTS = re.compile(r"\btests?\b")
_TESTS_APART = re.compile(r"\b(?:outside of|below src|tests\s+and documentation apart)\b")
_HALF_A_WORD = re.compile(r"\S{0,100}\Z")


def write_answer(search: Search) -> str:
    """Markdown with a citation for every claim; what was not found is said."""
    if search.asks_for_places:
        return "\n".join(_places(search))
    defined = search.definitions([*search.names, *search.trail])
    lines = ["What I found, in the order I followed it.", ""]
    for name, place in defined.items():
        lines.append(f"- {_cite(place)} defines `{name}`: `{_code(place)}`")
    uses = _uses(search, defined)
    lines += _list_uses("Where these names are used", uses, in_tests=False)
    lines += _list_uses("In the tests", uses, in_tests=True)
    missing = [name for name in search.names if not search.place_of(name)]
    lines += ["", _doubt(missing, len(uses))]
    lines += _server_doubt(search.server_calls)
    return "\n".join(lines)


def _places(search: Search) -> Iterator[str]:
    """The lines seen that name what is asked about, where a prompt asks for places alone."""
    counts, tests = _lines_asked_for(search.prompt), _tests_asked_for(search.prompt)
    count = 0
    for finding in search.found:
        named = any(counts(finding, name) for name in search.names[:1])
        if named and not finding.in_prose and tests in (None, finding.in_tests):
            count += 1
            yield f"- {_cite(finding)} has `{_code(finding)}`"
    yield from ("", f"FOUND: {count}")


def _lines_asked_for(prompt: str) -> Callable[[Finding, str], bool]:
    """Which lines that name something count, as far as the prompt's words say so."""
    if "Its definition counts, and no other" in prompt:
        return lambda finding, name: finding.names(name) and finding.defines(name)
    if "Count its definition" in prompt:
        return lambda finding, name: finding.uses(name) or finding.defines(name)
    if "re-export" in prompt:
        return lambda finding, name: finding.names(name) and finding.imports
    return lambda finding, name: finding.uses(name)


def _tests_asked_for(prompt: str) -> bool | None:
    """True: they alone. None: as well."""
    if "tests included" in prompt:
        return None
    apart = _TESTS_APART.search(prompt) is not None
    return not apart and _TESTS.search(prompt) is not None


def _uses(search: Search, defined: dict[str, Finding]) -> list[Finding]:
    """The lines seen that use a name of the prompt, without the definitions listed."""
    listed = {(place.path, place.line) for place in defined.values()}
    uses = []
    for finding in search.found:
        is_new = (finding.path, finding.line) not in listed and finding.text.strip()
        if is_new and any(map(finding.names, search.names)):
            uses.append(finding)
    return uses


def _list_uses(title: str, uses: list[Finding], *, in_tests: bool) -> list[str]:
    wanted = [use for use in uses if use.in_tests == in_tests]
    if not wanted:
        return []
    lines = ["", f"{title}:", ""]
    for use in _spread(wanted):
        lines.append(f"- {_cite(use)} has `{_code(use)}`")
    return lines


def _spread(uses: list[Finding]) -> list[Finding]:
    """A few of each file rather than many of the first, code before prose."""
    of_file: Counter[str] = Counter()
    rank: dict[Finding, tuple[bool, int]] = {}
    for use in uses:
        of_file[use.path] += 1
        rank[use] = (use.in_prose, of_file[use.path])
    return sorted(uses, key=lambda use: rank[use])[:SHOWN]


def _doubt(missing: list[str], uses: int) -> str:
    not_found = ""
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        not_found = f"I did not find {names}. "
    return (
        f"{not_found}I saw {uses} further lines that use these names; "
        "dynamic calls and code outside this repository were not looked at."
    )


def _server_doubt(calls: ServerCalls) -> list[str]:
    """Nothing of a server whose calls all found something."""
    if not calls.failed + calls.empty:
        return []
    said = f"{calls.failed} failed and {calls.empty} named no place"
    return [
        "",
        f"Of my {calls.made} calls of the server's tools {said}; I asked the shell instead.",
    ]


def _cite(place: Finding) -> str:
    return f"`{place.path}:{place.line}`"


def _code(place: Finding) -> str:
    # A backtick of the code would end the code span it is shown in.
    text = place.text.strip().replace("`", "'")
    if len(text) <= CODE_CHARS and len(place.text) < MAX_TEXT_CHARS:
        return text
    # Half of `test_basic.py:1368` is another place, and would count against who showed the whole.
    return _HALF_A_WORD.sub("", text[:CODE_CHARS])
