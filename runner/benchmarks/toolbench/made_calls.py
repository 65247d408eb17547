"""Whether a call that stands in a text is made there, or only mentioned.

A model that calls a tool stops there and waits for what it returns: in whatever language it writes,
nothing is left to be said. Who writes on explains, asks, quotes or tells of a call. So what stands
in a text is a call if no further sentence follows the last one, and no word in front denies it.

A list of calls in JSON is what these tasks ask for, and may be explained behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runner.benchmarks.toolbench.call_markup import TextCall

MOST_LETTERS_BEHIND = 12
"""Of what may follow a call: "That's it." tells nothing."""
LETTERS_A_SIGN = 3
"""A sign of a script that writes a word with one or two counts as so many letters."""
MOST_BEFORE = 240
"""Characters of a sentence in front of a call."""
MOST_BEHIND = 4_000
_DENIED = re.compile(
    r"(?:\bnot|n['’]t|\bnever|\bno need|\binstead of|\brather than|\bwithout|\bavoid)"
    r"(?:[^\S\n]+(?!(?:so|but|hence|thus|therefore|then|only)\b)[\w'’-]+){0,6}"
    r"[^\S\n]+[`*\"'(]{0,3}$",
    re.I,
)
"""Before a call that is mentioned and not made; behind a comma or "so", something else begins."""
_WEIGHED = re.compile(
    r"""
    ^\W*(?:if|unless|example)\b                      # If you name a day, I will call …
  | \b(?:could|might)\b | \byou\ would\b           # You could ask me for …
  | \bhere(?:['’]s|\ is)\ how\b
  | \b(?:shall|should|may|can)\ I\b | \b(?:want|like)\ me\ to\b     # Shall I run …
  | \b(?:thought|think|thinking)\ (?:of|about)\b | \bconsider(?:ed|ing)?\b
  | \b(?:I|we|you)(?:['’]ve|\ have|\ had)?(?:\ (?:also|already|just))?\ (?:called|used|ran|tried)\b
  | \b(?:things|something)\ like\b | \bfor\ (?:example|instance)\b | \be\.g\.
    """,
    re.I | re.X,
)
"""In a sentence up to a call that it offers, weighs, remembers or shows, and does not make."""
_SENTENCE = re.compile(r"[.!?]\s|\n")
_LEAD = re.compile(r"(?:^|\n)([^\n]*\w[^\n]*)\s*(?:```\w*\s*|`)?\Z")
"""The last line of words in front of a call that begins a line, or a fence."""
_EXAMPLE = re.compile(
    r"\bexample\b|exempl|ejempl|esempi|\bbeispiel|\bпример|示例|例子|例えば|예시|예를", re.I
)
_QUOTED_LINE = re.compile(r"(?:^|\n)[ \t]*(?:>(?!>>\Z)|#(?!#)|//|[+-][ \t]{2,}|<!--)[^\n]*\Z")
"""In front of a call on its line: a quotation, a comment, a line of a diff."""
_BLANK = re.compile(r"\s*(?:<[^<>]{1,80}>|\{\{?[^{}]{1,80}\}\}?|\[[A-Z _]{1,80}\]|\.{3}|…)\s*")
"""The whole of an argument that is still to be filled in."""
_TRAJECTORY = re.compile(r"\W*(?:thought|action|question|tool_calls?|function_calls?|tool)\b", re.I)
_RESULT = re.compile(
    r"^[*_]{0,2}(?:observation|tool (?:result|response|output))[*_]{0,2}\s?:"
    r"|<(?:tool_result|tool_response|tool_output|function_result|function_response|observation)s?\b",
    re.I | re.M,
)
_MARKUP = re.compile(r"</?[^<>\n]{1,80}>|[<\[][|｜][^\n]{1,40}?[|｜][>\]]|[\])}]+")
_REST = re.compile(r"[^\n]*?(?:[.!?](?=\s|$)|[。！？]|(?=\n)|$)", re.S)
"""Of the sentence or the line that the call stands in."""
_AWAITS = re.compile(
    r"\s*(?:once|after|when|as soon as|then|next|this(?: call)? (?:will|should)|i(?:['’]ll| will)"
    r"|sobald|danach|dès que|ensuite|cuando|luego|después)\b"
    r"(?:(?!(?<!for )\byou|[?]|[.!]\s+\w).)*",
    re.I,
)
"""One sentence, to nobody, of what comes when the result is there."""
_LABEL = re.compile(r"(?:^|\n)[*_]{0,2}[^\W\d_]{3,20}[*_]{0,2}\s?[:：][*_]{0,2}\s*\Z")
"""`Observation:` and nothing behind it: what the tool returns has to stand there."""
_SIGNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS = re.compile(r"[^\W\d_]")


def own_text(text: str) -> str:
    """Up to the result that a model made up for its own call, where it wrote a whole trajectory."""
    found = _RESULT.search(text) if _TRAJECTORY.match(text) else None
    return text[: found.start()] if found and found.start() else text


def calls_made(text: str, written: Sequence[TextCall]) -> list[TextCall]:
    """Those that are made, in order; none if the model writes on behind the last one."""
    made = [call for call in written if not is_mentioned(text, call.begin, call.arguments)]
    return made if made and stops_behind(text, made[-1].end) else []


def is_mentioned(text: str, begin: int, arguments: Any = None) -> bool:
    """ "I decided not to call …", "Shall I run …", a quotation, a form to be filled."""
    if _DENIED.search(text[max(0, begin - 80) : begin]):
        return True
    before = text[max(0, begin - MOST_BEFORE) : begin]
    if _WEIGHED.search(_SENTENCE.split(before)[-1]) or _QUOTED_LINE.search(before):
        return True
    if _is_shown(before):
        return True
    given = arguments.values() if isinstance(arguments, Mapping) else ()
    return any(isinstance(value, str) and _BLANK.fullmatch(value) for value in given)


def _is_shown(before: str) -> bool:
    """ "You would call it like this:", "### Example": the line above tells what the call is."""
    lead = _LEAD.search(before)
    if lead is None or not before[lead.end(1) :].strip(" `"):
        return False
    line = lead[1].strip()
    if line.endswith((":", "：")):
        return bool(_WEIGHED.search(_SENTENCE.split(line)[-1]) or _EXAMPLE.search(line))
    return line.startswith("#") and bool(_EXAMPLE.search(line))


def stops_behind(text: str, end: int) -> bool:
    """True if no further sentence follows."""
    behind = text[end : end + MOST_BEHIND]
    if text.count("```", 0, end) % 2:
        behind = behind.partition("```")[2]
    behind = _MARKUP.sub("", behind).lstrip("`*_ \t)")
    behind = behind[_REST.match(behind).end() :]  # type: ignore[union-attr]  # it may be empty
    if _AWAITS.fullmatch(behind.strip(" \n.`*")) or _LABEL.search(behind):
        return True
    signs = len(_SIGNS.findall(behind))
    letters = len(_LETTERS.findall(behind)) + (LETTERS_A_SIGN - 1) * signs
    return letters < MOST_LETTERS_BEHIND
