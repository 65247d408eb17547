"""Whether each fact of a rubric can be read on its own.

A model judge sees facts shuffled, and one in its own words says what is meant: a word like "it"
that leans on the fact before would be read as any other thing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from runner.records import RubricStep

_FIRST_WORDS = re.compile(
    r"(it|its|they|their|them|this|that|these|those|he|she|so|likewise|then|also)\b"
)
_LEANING = re.compile(
    r"\b((do|does|did|doing) so|so (do|does|did)|likewise|th(at|is) (case|route|site|branch|place)"
    r"|the (former|latter)|as above|(creates|makes|has|is) one$)"
)
_FIRST_CLAUSE = re.compile(
    r".*?(?=[,;:(]|\b(and|but|or|so|as|since|because|when|where|while|if|unless|until|that|which"
    r"|who|whose|what|whatever|than|though|although|before|after)\b|$)"
)
_OBJECT = re.compile(
    r"\b(it|them|these|those)"
    r"(?= *$| (for|with|by|in|on|to|from|as|at|into|through|again|once|too)\b)"
)


def dangling_word(says: str) -> str:
    """The word of a fact that leans on something outside of it; empty if it stands alone."""
    text = says.strip().lower()
    clause = _FIRST_CLAUSE.match(text)
    found = (
        _FIRST_WORDS.match(text)
        or _LEANING.search(text)
        # What does something to "it" does it to something else, and nothing else has been named.
        or (clause and _OBJECT.search(clause[0]))
    )
    return found[0] if found else ""


def wording_problems(step: RubricStep) -> Iterator[tuple[str, int, str]]:
    """Criterion, the fact's index, and what is wrong with its words."""
    times = Counter(fact.says for criterion in step.criteria.values() for fact in criterion.facts)
    for name, criterion in step.criteria.items():
        for index, fact in enumerate(criterion.facts):
            if word := dangling_word(fact.says):
                yield name, index, f"{fact.says!r} does not stand alone: what is {word!r}?"
            if times[fact.says] > 1:
                yield name, index, f"{fact.says!r} stands in this step twice"
