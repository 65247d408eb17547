"""What the calls of a session answered, by key: later calls of it are filled with that.

A server that is opened by a first call names what it opened by an id, another one in each session.
`{answer.KEY}` in a warm-up call or a health probe stands for it. Needs no engine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Value = str | int
ToolAnswers = Mapping[str, Value]
"""`{answer.KEY}` without `answer.` -> what stands there."""
WHOLE = "text"
"""The key of an answer that is one word and nothing else."""
_VALUE_CHARS = 500
_MOST = 200
"""Keys that are kept of one answer."""
_WRAPPER = "result"
"""The key under which libraries put whatever a tool gave; a text there is the answer's text too."""
_LABELLED = re.compile(
    r"^[\s*#>-]*(?P<key>[A-Za-z][\w -]{0,30}?)[*`]{0,2}\s*[:=]\s*[*`\"']{0,3}"
    r"(?P<value>[^\s`\"'*]{1,200})[`\"'*]{0,3}\s*$",
    re.MULTILINE,
)
_ID_SAID = re.compile(
    r"\b(?P<key>(?:(?!(?:with|the|its|an?|by|of|as|is)\b)\w+[ _-])?(?:id|handle|uuid))\b"
    r"\s*(?:is|[:=])?\s*[`\"']?"
    r"(?P<value>(?=[\w.:-]*\d)[\w.:-]{3,100}[\w])",
    re.IGNORECASE,
)

_BUSY_CHARS = 1500
_BUSY = re.compile(
    r"\bindex(?:ing)?[ -](?:is )?(?:still )?(?:in[ -]progress|being built|building|running)\b"
    r"|\b(?:re)?index(?:ing)? (?:was |is )?(?:queued|scheduled)\b"
    r"|\bstill (?:index|build|load|warm|scann)ing\b|\bstill being (?:built|indexed)\b"
    r"|\b(?:is|are) (?:currently |being )(?:indexing|indexed|built)\b|\bis (?:now )?indexing\b"
    r"|\b(?:retry|try again) (?:shortly|in a (?:moment|minute|few))\b",
    re.IGNORECASE,
)
_NOTHING_CHARS = 400
_NOTHING = re.compile(
    r"\b(?:no|0|zero)\s+(?:[\w-]+\s+){0,3}?(?:results?|match(?:es)?|symbols?|references?"
    r"|definitions?|usages?|call(?:er|ee)s?|files?|items?|occurrences?|hits?|nodes?|entit(?:y|ies)"
    r"|functions?|documents?|snippets?|data)\b"
    r"|\b(?:nothing|none|not)(?: was| were| could be)? found\b|\bfound (?:nothing|none)\b"
    r"|\b(?:could not|couldn't|did not|unable to) find\b|\bdoes not exist\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"(?:total|num|number_of)?_?(?:total|count|results|matches|hits|items|found)", re.IGNORECASE
)
_ABOUT = re.compile(
    r"_?(?:meta(?:data)?|stat(?:istic)?s|refresh|timings?|query|params|pagination|request|index)",
    re.IGNORECASE,
)
"""Objects beside an answer that tell of the search."""
_SAYS_NO = re.compile(
    r"\W*(error|failed|failure|cannot|could not|invalid|no such|not found|access denied|unknown)\b"
)


def values_in_answer(text: str, structured: Any = None) -> dict[str, Value]:
    """Of a JSON object its keys, and those of objects in it as `outer.inner`.

    A list of one object is that object: `{"repos": [{"id": "x"}]}` is `repos.id`.
    Of a text that is none, what stands behind a colon: `Repo ID: x` is `repo_id`. `structured`: the
    structured content that came with the text.
    """
    found = {**dict(_flat(_json(text))), **dict(_flat(structured))}
    found = found or dict(_said(text))
    return dict(list(found.items())[:_MOST])


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _flat(answer: Any) -> Iterator[tuple[str, Value]]:
    if not isinstance(answer, Mapping):
        return
    for key, value in answer.items():
        inner = _json(value) if isinstance(value, str) and value[:1] == "{" else _alone(value)
        if isinstance(inner, Mapping):
            prefix = "" if key == _WRAPPER else f"{key}."
            yield from (
                (f"{prefix}{name}", item) for name, item in inner.items() if _is_value(item)
            )
        elif _is_value(inner) and key != _WRAPPER:
            yield str(key), inner


def _alone(value: Any) -> Any:
    """The only object of a list: of several, nobody knows which is meant."""
    is_one = isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping)
    return value[0] if is_one else value


def _is_value(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _VALUE_CHARS and "\n" not in value
    return isinstance(value, int) and not isinstance(value, bool)


def _said(text: str) -> Iterator[tuple[str, Value]]:
    """Of words, not of JSON."""
    if re.fullmatch(r"\s*[\w.:/@-]{1,200}\s*", text):
        yield WHOLE, text.strip()
    seen = set()
    for pattern in (_ID_SAID, _LABELLED):
        for found in pattern.finditer(text):
            value = found["value"].rstrip(".,;")
            # `Opened with ID: x` fits both, and one handle by two names would be two.
            if value not in seen:
                yield re.sub(r"[\s-]+", "_", found["key"].strip().lower()), value
            seen.add(value)


def says_no(text: str) -> bool:
    """Does it begin as an error does? Code that is found may begin so too."""
    return _SAYS_NO.match(text.lower()) is not None


def says_busy(text: str) -> bool:
    """Does a short answer say that an index is being built? Long ones may be code and prose."""
    return len(text) <= _BUSY_CHARS and _BUSY.search(text) is not None


def finds_nothing(text: str) -> bool:
    """Is it an answer without content: empty, empty lists alone, or few words that say so?

    A long answer has content, whatever words are in it. Numbers and booleans are content, but
    beside an empty list, a text that says so or a count of 0, where they are about the question.
    """
    value = _json(text)
    if value is None:
        return text.strip() in ("", "null") or (
            len(text) <= _NOTHING_CHARS and bool(_NOTHING.search(text))
        )
    return _is_empty(value)


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return finds_nothing(value)
    if isinstance(value, list):
        return all(map(_is_empty, value))
    return _holds_nothing(value) if isinstance(value, Mapping) else value is None


def _holds_nothing(value: Mapping[str, Any]) -> bool:
    answer = _answer_in(value)
    inner = [one for one in answer.values() if isinstance(one, list | Mapping)]
    if inner:
        # `{"query": "x", "results": [], "total": 0}`: what was asked is no answer.
        return all(map(_is_empty, inner)) and not any(map(_is_long, value.values()))
    if _counts_nothing(value):
        return True
    texts = [one for one in answer.values() if isinstance(one, str) and one.strip()]
    # Of `{"row": 3, "column": 0}` the numbers are the answer.
    said = texts or [one for one in answer.values() if not isinstance(one, str)]
    return all(map(_is_empty, said))


def _answer_in(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """`{"results": [], "stats": {"ms": 12}}`: what is told of a search is no result of it.

    Where no result is empty, `{"stats": {"functions": 12}}` is what was asked for.
    """
    if not any(_COUNT.fullmatch(key) and not one for key, one in value.items()):
        return value
    told = [key for key, one in value.items() if isinstance(one, Mapping) and _ABOUT.fullmatch(key)]
    return {key: one for key, one in value.items() if key not in told}


def _counts_nothing(value: Mapping[str, Any]) -> bool:
    """`{"query": "x", "total": 0}`, and `{"found": false}`."""
    counts = [one for key, one in value.items() if _COUNT.fullmatch(key)]
    return 0 in counts and not any(counts)


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and (len(value) > _NOTHING_CHARS or "\n" in value.strip())


def is_refusal(text: str) -> bool:
    """Is it an error that is not marked as one: an object that says it failed?

    Also where it stands alone in a list.
    """
    answer = _alone(_json(text))
    if not isinstance(answer, Mapping):
        return False
    failed = any(answer.get(key) is False for key in ("success", "ok"))
    return failed or bool(answer.get("error")) or answer.get("status") == "error"
