"""Calls in JSON that are explained behind, as weak models answer that are asked for calls alone.

Whoever takes them back behind, asks first or shows how it is done has made none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from runner.benchmarks.toolbench.brackets import FENCE
from runner.benchmarks.toolbench.call_markup import TextCall
from runner.benchmarks.toolbench.made_calls import MOST_BEFORE, MOST_BEHIND, is_mentioned

_TAKEN_BACK = re.compile(
    r"""
    \b(?:ignor|disregard|scrap\ |forget\ (?:th|it)) | 忽略 | 無視 | 무시      # Ignore the above.
  | \b(?:no\ (?:(?:tool|function|such)\ )?(?:call|tool|function)s?\ (?:is|are|was|were)
      | (?:this|that|it|they|calls?|tools?)(?:\ \w+)?\ (?:is|are|was|were)(?:n['’]t|\ not))
    (?:\ really)?\ (?:needed|necessary|required|made)\b
  | \bnicht\ (?:nötig|erforderlich|notwendig) | \bniet\ nodig\b           # Das ist nicht nötig.
  | \b(?:pas|non|não|no)\ (?:è\ |es\ |é\ )?n[eé]cess?[aá] | \bno\ hace\ falta\b
  | \bне\ (?:нуж|треб) | 不需要 | 无需 | 不必
  | 必要(?:は)?(?:ありません|ない) | 필요(?:는|가)?\ ?없
  | \bnothing\ (?:has|was|is)\b                                 # Nothing has been sent yet.
  | \b(?:is|['’]s)\ how\b | \byou\ would\b | \breplac(?:e|ing)\b   # That is how you would ask.
    """,
    re.I | re.X,
)
"""Behind a call that is no longer wanted, or was shown only."""
_ASKED = re.compile(
    r"[?？؟]|\bconf[ie]rm|\bapprov|\bgo ahead\b|\bsay [\"“']|bestätig|подтверд|确认"
    r"|\blike this\b|格式(?:如下|应)",
    re.I,
)
"""Around a call that waits for the user, or shows a form."""
_OWN_LINE = re.compile(r"(?:\A|\n)[ \t]*(?:(?:[-*]|\d{1,3}[.)])[ \t]+)?(?P<fence>```\w*\s*)?\Z")
_OWN_END = re.compile(r"[ \t]*(?:\n|\Z)(?!\s*</)\s*(?P<fence>```)?\s*(?P<begins>.?)")


def is_explained(text: str, written: Sequence[TextCall]) -> bool:
    """Every call has lines of its own, and what is said around them neither asks nor takes back.

    So weak models answer that are asked for nothing but calls.
    """
    if not written or any(is_mentioned(text, call.begin, call.arguments) for call in written):
        return False
    if not all(_stands_alone(text, begin, end) for begin, end in _together(text, written)):
        return False
    begin, end = written[0].begin, written[-1].end
    around = text[max(0, begin - MOST_BEFORE) : begin] + text[end : end + MOST_BEHIND]
    if _ASKED.search(around) or is_taken_back(text, end):
        return False
    # Behind the fence's own end, another holds what was returned, or a further example.
    return text.count(FENCE, end, end + MOST_BEHIND) < 2


def _together(text: str, written: Sequence[TextCall]) -> Iterator[tuple[int, int]]:
    """(begin, end) of calls between which nothing is written."""
    begin = written[0].begin
    for call, further in pairwise(written):
        if text[call.end : further.begin].strip(" \t\r\n,"):
            yield begin, call.end
            begin = further.begin
    yield begin, written[-1].end


def _stands_alone(text: str, begin: int, end: int) -> bool:
    """On lines of its own, of which it fills the fence, between sentences and in none."""
    line = _OWN_LINE.search(text[max(0, begin - MOST_BEFORE) : begin])
    behind = _OWN_END.match(text, end)
    if not line or not behind or bool(line["fence"]) != bool(behind["fence"]):
        return False
    lead = text[max(0, begin - MOST_BEFORE) : begin - len(line[0])].rstrip()[-1:]
    begins = behind["begins"]
    # "The call {…} was refused" is one sentence, in three paragraphs.
    return not begins.islower() and not (begins.isalpha() > begins.isupper() and lead.isalnum())


def is_taken_back(text: str, end: int) -> bool:
    """ "Actually, no call is needed": a call that is written, and then not wanted."""
    return bool(_TAKEN_BACK.search(text[end : end + MOST_BEHIND]))
