"""Whether a call that stands in a text is made there, or only mentioned.

A model that calls a tool stops there and waits for what it returns: in whatever language it writes,
nothing is left to be said. Who writes on explains, asks, quotes or tells of a call. So what stands
in a text is a call if its own sentence says no more behind it than when and what for, no further
sentence follows the last one, and no word in front denies it.

What a model was taught to mark a call with marks one, whatever follows: a weak model writes on, and
makes up what the tool returned. A list of calls is what these tasks ask for, and may be explained
behind (explained_calls.py). In code marks neither is more than any other text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runner.benchmarks.toolbench.brackets import FENCE, Fences
from runner.benchmarks.toolbench.call_markup import CALL_MARK, TextCall

MOST_LETTERS_BEHIND = 12
"""Of what may follow a call: "That's it." tells nothing."""
MOST_LETTERS_IN_CODE = 4
"""Of the same sentence, behind a call in code marks: "Send `x(a=1)` to the API" makes none."""
LETTERS_A_SIGN = 3
"""A sign of a script that writes a word with one or two counts as so many letters."""
MOST_REST = 12
"""Letters and figures of a call's own sentence behind it: "I call x() now." More are about it."""
MOST_OF_SUBJECT = 4
"""The same, where the sentence begins with the call: "x() failed" tells of it."""
MOST_BEFORE = 240
"""Characters of a sentence in front of a call."""
MOST_BEHIND = 4_000
MOST_MARK = 200
"""Characters of what opens a call."""
_NOT = (
    r"\b(?:not|never|nicht|kein\w*|nie|pas|jamais|nunca|non|não|niet|geen|не|inte|ikke|değil)\b"
    r"|n['’]t\b"
)
_NEGATION = re.compile(rf"{_NOT}|\bno (?:longer|hace)\b|[不没無无未않못없]|ません|ない", re.I)
"""Behind a call in its sentence: "Ich rufe x() nicht auf"."""
_DENIED = re.compile(
    rf"(?:{_NOT}|\bno(?!\s(?:doubt|further|more)\b)|\binstead of|\brather than|\bwithout|\bavoid)"
    r"(?:[^\S\n]+(?!(?:so|but|hence|thus|therefore|then|only|und|et|y|и)\b)[\w'’-]+){0,6}"
    r"[^\S\n]+[`*\"'(]{0,3}$"
    r"|(?:不|没有?|未|别)[^\W所因故]{0,6}\s?[`*\"'(]{0,3}$",
    re.I,
)
"""Before a call that is mentioned and not made; behind a comma or "so", something else begins."""
_WEIGHED = re.compile(
    r"""
    ^\W*(?:if|unless|example)\b                      # If you name a day, I will call …
  | \b(?:could|might)\b | \byou\ would\b | \bwould\ instead\b           # You could ask me for …
  | \bhere(?:['’]s|\ is)\ how\b
  | \b(?:shall|should|may|can)\ I\b | \b(?:want|like)\ me\ to\b     # Shall I run …
  | \b(?:thought|think|thinking)\ (?:of|about)\b | \bconsider(?:ed|ing)?\b
  | \b(?:I|we|you)(?:['’]ve|\ have|\ had)?(?:\ (?:also|already|just))?
    \ (?:called|used|ran|tried|made)\b
  | \b(?:things|something)\ like\b | \bsuch\ as\b | \bfor\ (?:example|instance)\b | \be\.g\.
  | \botherwise\b                                      # No tool is called; otherwise it would be …
    """,
    re.I | re.X,
)
"""In a sentence up to a call that it offers, weighs, remembers or shows, and does not make."""
_SENTENCE = re.compile(r"[.!?]\s|\n")
_LEAD = re.compile(r"(?:^|\n)([^\n]*\w[^\n]*)\s*(?:```\w*\s*|`)?\Z")
"""The last line of words in front of a call that begins a line, or a fence."""
_EXAMPLE = re.compile(
    r"\b(?:example|syntax|for reference)\b|exempl|ejempl|esempi|\bbeispiel|\bпример|示例|例子"
    r"|例えば|예시|예를",
    re.I,
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
_WHAT_FOR = re.compile(
    r"\W{0,4}(?:in\sorder\s|\w{1,6},?\s)?"
    r"(?:to\s(?!the\b|an?\b|your\b)|(?:um|om|pour|para|per|чтобы|для)\b|来|以)"
    r"|\s*(?:#|//)",
    re.I,
)
"""Behind a call in its sentence: what it is made for, or a comment."""
_SUBJECT = re.compile(r"\W*(?:(?:the|this|that|d(?:er|ie|as)|la|le|el|il|o)\s\w+\s)?\W*", re.I)
"""All that stands in front of a call that its sentence is about: "The call x() failed"."""
_JOINING_WORD = re.compile(r"\A\W*\w{1,3}\b")
_SAID_OF_IT = re.compile(r"\W{0,3}(?:(?:[:：→]|[=-]>)\W*\w|(?:if|unless|falls|wenn|si)\b)", re.I)
"""`x(): 20 °C`, "x() if you agree": what it is or returned, or when it would be made."""
_AWAITS = re.compile(
    r"\s*(?:once|after|when|as soon as|then|next|this(?: call)? (?:will|should)|i(?:['’]ll| will)"
    r"|sobald|danach|dès que|ensuite|cuando|luego|después)\b"
    r"(?:(?!(?<!for )\byou|[?]|[.!]\s+\w).)*",
    re.I,
)
"""One sentence, to nobody, of what comes when the result is there."""
_LABEL = re.compile(r"(?:^|\n)[*_]{0,2}[^\W\d_]{3,20}[*_]{0,2}\s?[:：][*_]{0,2}\s*\Z")
"""`Observation:` and nothing behind it: what the tool returns has to stand there."""
_TAUGHT = re.compile(
    rf"(?:{CALL_MARK}|[\[<]{{1,3}}[\w:]{{0,20}}(?:tool|function)[_ ]?(?:call|use|request)?s?"
    r"[^\[\]<>\n]{0,80}[\]>]{1,3})"
    r"[\W\d]*(?:(?:functions?|name|json)\b\W*)?(?:[\w.-]+(?::\d+)?)?[\W\d]*\Z",
    re.I,
)
"""In front of a call: what opens it, and its name at most."""
_TAUGHT_HEADS = ("<invoke", "<function", "<tool_call")
_OPENED = re.compile(r"(?:\s{0,8}</?[a-z_:]{1,40}>)+\s{0,8}\Z", re.I)
_LIST_OPENS = re.compile(r"(?:^|\n)[ \t]*\[\s*\Z")
_SIGNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS = re.compile(r"[^\W\d_]")
_FENCE_HEAD = re.compile(r"```\w*")
_SIGN = re.compile(r"\w")


def own_text(text: str) -> str:
    """Up to the result that a model made up for its own call, where it wrote a whole trajectory."""
    found = _RESULT.search(text) if _TRAJECTORY.match(text) else None
    return text[: found.start()] if found and found.start() else text


def calls_made(text: str, written: Sequence[TextCall]) -> list[TextCall]:
    """Those that are made, in order; none if the model writes on behind the last one."""
    made = [call for call in written if not is_mentioned(text, call.begin, call.arguments)]
    taught = _taught(text, made)
    if taught or not made:
        return taught
    return made if _is_list(text, made) or stops_behind(text, made[-1]) else []


def is_alone(text: str, begin: int, end: int) -> bool:
    """Is it marked, or does the text say nothing else?"""
    around = text[max(0, begin - MOST_BEFORE) : begin] + text[end : end + MOST_BEFORE]
    return is_marked(text, begin) or not _LETTERS.search(_FENCE_HEAD.sub("", around))


def is_told_of(text: str, begin: int, end: int) -> bool:
    """Does the sentence that calls stand in go on about them? What is marked is made all the same.

    "I made this call: […] and it returned 20 °C."
    """
    rest = _MARKUP.sub("", text[end : end + MOST_BEFORE])
    return _goes_on(text, begin, _rest_of_sentence(rest)) and not is_marked(text, begin)


def _rest_of_sentence(behind: str) -> str:
    rest = _REST.match(behind)
    return rest[0] if rest else ""


def _goes_on(text: str, begin: int, rest: str) -> bool:
    if _NEGATION.search(rest) or _SAID_OF_IT.match(rest):
        return True
    if _WHAT_FOR.match(rest) or rest.lstrip()[:1].isupper():
        return False
    before = _SENTENCE.split(text[max(0, begin - MOST_BEFORE) : begin])[-1]
    # Japanese and Korean have the verb behind, and need nothing in front.
    is_subject = _SUBJECT.fullmatch(before) and not _SIGNS.search(rest)
    signs = _SIGN.findall(_JOINING_WORD.sub("", rest.partition("{")[0]))
    return len(signs) > (MOST_OF_SUBJECT if is_subject else MOST_REST)


def _taught(text: str, made: Sequence[TextCall]) -> list[TextCall]:
    """Those that are marked, and those that follow one of them at once: one mark opens a list."""
    found: list[TextCall] = []
    fences = Fences(text)
    for call in made:
        follows = found and _are_together(text, found[-1], call)
        if follows or (is_marked(text, call.begin) and not fences.hold(call.begin)):
            found.append(call)
    return found


def _are_together(text: str, call: TextCall, further: TextCall) -> bool:
    between = text[call.end : min(further.begin, call.end + MOST_BEHIND)]
    return len(_LETTERS.findall(between.replace(further.name, ""))) < MOST_LETTERS_BEHIND


def is_marked(text: str, begin: int) -> bool:
    """Is it marked as models were taught to mark a call?"""
    before = text[max(0, begin - MOST_MARK) : begin]
    marked = text.startswith(_TAUGHT_HEADS, begin) or _TAUGHT.search(before)
    return bool(marked) and before.rpartition("\n")[2].count("`") % 2 == 0


def _is_list(text: str, made: Sequence[TextCall]) -> bool:
    """`[a(x=1), b(y=2)]` from the beginning of a line."""
    begin = made[0].begin
    opened = _LIST_OPENS.search(text[max(0, begin - MOST_MARK) : begin])
    closed = text[made[-1].end : made[-1].end + 40].lstrip().startswith("]")
    return bool(opened) and closed and not Fences(text).hold(begin)


def is_mentioned(text: str, begin: int, arguments: Any = None) -> bool:
    """ "I decided not to call …", "Shall I run …", a quotation, a form to be filled."""
    if _DENIED.search(text[max(0, begin - 80) : begin]):
        return True
    before = _OPENED.sub("", text[max(0, begin - MOST_BEFORE) : begin])
    if _WEIGHED.search(_SENTENCE.split(before)[-1]) or _QUOTED_LINE.search(before):
        return True
    line = before.rpartition("\n")[2]
    if _is_shown(before) or line.count('"') % 2 or line.count("~~") % 2:
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


def stops_behind(text: str, call: TextCall) -> bool:
    """True if no further sentence follows, and its own says nothing more."""
    end = call.end
    behind = text[end : end + MOST_BEHIND]
    if Fences(text).hold(end):
        behind = behind.partition(FENCE)[2]
    in_code = behind.startswith(("`", ")`")) and not behind.startswith(FENCE)
    behind = _MARKUP.sub("", behind).lstrip("`*_ \t)")
    if not in_code:
        rest = _rest_of_sentence(behind)
        if _goes_on(text, call.begin, rest):
            return False
        behind = behind[len(rest) :]
    if _AWAITS.fullmatch(behind.strip(" \n.`*")) or _LABEL.search(behind):
        return True
    signs = len(_SIGNS.findall(behind))
    letters = len(_LETTERS.findall(behind)) + (LETTERS_A_SIGN - 1) * signs
    return letters < (MOST_LETTERS_IN_CODE if in_code else MOST_LETTERS_BEHIND)
