"""An answer as its reader saw it, each citation in the colour of its verdict and leading to its
lines; and what a judge took from it, marked where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import groupby, islice

from markupsafe import Markup

from runner.grounding.rendered import rendered
from runner.records import Citation, FactVerdict
from runner.report.citation_text import meant
from runner.report.grid import clean, lines_of
from runner.report.html.cited_files import lines_anchor
from runner.report.html.drawings import cell_anchor, short_anchor
from runner.report.html.elements import element, joined
from runner.report.page_data import CellEvidence

ANSWER_SHOWN = 24_000
"""Characters of a step's answer."""
QUOTE_SHOWN = 120
"""Beside its fact, where it is not marked in the answer."""
SHORTEST_QUOTE = 12
"""A shorter one stands in too many places to be marked in one."""
MOST_QUOTES = 3_000
FIRST_MARK = 0xE000
_MARK = re.compile("([\ue000-\uf8ff])")
MOST_MARKS = 400
"""In one piece of text: a line of megabytes may repeat one path for ever."""


_Target = tuple[str, str, str | None]
"""Of a citation's link: where it leads, its class, its title."""


def citation_anchor(cell_id: str, number: int) -> str:
    return f"{cell_anchor(cell_id)}-cite-{number + 1}"


def fact_anchor(cell_id: str, number: int) -> str:
    return f"{short_anchor(cell_id)}-f{number + 1}"


def quote_anchor(cell_id: str, number: int) -> str:
    return f"{short_anchor(cell_id)}-q{number + 1}"


def verdict_of(citation: Citation) -> str:
    """Its class and its word: grounded, weak, unresolved or hallucinated."""
    return "weak" if citation.weak and citation.status == "grounded" else citation.status


def _class_of(verdict: str) -> str:
    """Most are grounded, and say nothing more."""
    return "cite" if verdict == "grounded" else f"cite {verdict}"


class MarkedAnswer:
    """What of a cell's answers leads somewhere, and which words a judge quoted.

    Text is given in order: a quote may begin in one piece and end in another.
    """

    def __init__(self, cell: CellEvidence) -> None:
        self.cell = cell
        self._facts = facts_of(cell)[:MOST_QUOTES]
        self._targets = dict(self._citations())
        # The longest first: `app.py:12` is the beginning of `app.py:123`.
        written = sorted(self._targets, key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, written)) or r"(?!)")
        self._open: list[int] = []
        self.quoted: set[int] = set()
        """Facts whose quote is marked in what is shown."""

    def with_quotes(self, steps: Collection[str], text: str) -> str:
        """With a private character where a quote begins and ends: `lines_of` leaves none in a text,
        so that no answer can hold one of its own."""
        for number, fact in enumerate(self._facts):
            words = fact.quote.split()
            if fact.step in steps and sum(map(len, words)) >= SHORTEST_QUOTE:
                quote = r"[\s\ue000-\uf8ff]+".join(map(re.escape, words))
                # A mark before a list's hyphen or a table's bar would make a paragraph of it.
                found = re.search(quote, text)
                if found:
                    start = found.end() - len(found.group().lstrip("-*#>| \n"))
                    end = found.start() + len(found.group().rstrip("| \n"))
                    opens, closes = chr(FIRST_MARK + 2 * number), chr(FIRST_MARK + 2 * number + 1)
                    text = text[:start] + opens + text[start:end] + closes + text[end:]
        return text

    def shown(self, text: str) -> Markup:
        """The text escaped, with links."""
        parts: list[Markup] = []
        for piece in _MARK.split(text):
            if _MARK.fullmatch(piece):
                parts.append(self._turned(ord(piece) - FIRST_MARK))
            elif piece and self._open:
                verdict = self._facts[self._open[-1]].verdict
                parts.append(element("span", self._cited(piece), class_=f"quote {verdict}"))
            else:
                parts.append(self._cited(piece))
        return joined(*parts)

    def _turned(self, mark: int) -> Markup:
        number, ends = divmod(mark, 2)
        if not ends:
            self._open.append(number)
            return Markup("")
        if number in self._open:
            self._open.remove(number)
        fact, cell_id = self._facts[number], self.cell.cell.id
        self.quoted.add(number)
        return element(
            "a",
            f"{fact.verdict} {number + 1}",
            href=f"#{fact_anchor(cell_id, number)}",
            id=quote_anchor(cell_id, number),
            class_=f"ref {fact.verdict}",
        )

    def _cited(self, text: str) -> Markup:
        parts: list[Markup] = []
        at = 0
        for found in islice(self._any.finditer(text), MOST_MARKS):
            href, class_, title = self._targets[found.group()]
            link = element("a", found.group(), href=href, class_=class_, title=title)
            parts += [joined(text[at : found.start()]), link]
            at = found.end()
        return joined(*parts, text[at:])

    def _citations(self) -> Iterator[tuple[str, _Target]]:
        for number, cited in enumerate(self.cell.cited):
            written = lines_of(cited.citation.written, 500)
            if written.strip():
                verdict = verdict_of(cited.citation)
                # The list under the answer says why of each; a title here says it of the doubtful.
                title = None if verdict == "grounded" else f"{verdict}: {cited.citation.reason}"
                own = f"#{citation_anchor(self.cell.cell.id, number)}"
                href = _lines_link(self.cell, number) or own
                yield written, (href, _class_of(verdict), title and clean(title, 300))


def facts_of(cell: CellEvidence) -> tuple[FactVerdict, ...]:
    card = cell.scorecard
    return card.fairness.verdict.facts if card and card.fairness.verdict else ()


def answers(marked: MarkedAnswer) -> Iterator[Markup]:
    """What was said in each step. One answer to several, as an import may hold, stands once."""
    numbered = enumerate(marked.cell.answer, 1)
    for text, of in groupby(numbered, lambda it: it[1].text):
        steps = {number: step.name for number, step in of}
        said = marked.with_quotes(steps.values(), lines_of(text, ANSWER_SHOWN))
        # The renderer takes text from `shown` alone, which escapes it.
        body = Markup(rendered(said, lambda text: str(marked.shown(text))))  # noqa: S704
        yield element(
            "section",
            element("p", _heading(steps), class_="kicker"),
            element("div", body, class_="answer")
            if text.strip()
            else element("p", "It said nothing.", class_="empty"),
        )


def _heading(steps: Mapping[int, str]) -> str:
    """`Step 2: callers`, or `One answer to steps 1, 2: trace, callers`."""
    word = "Step" if len(steps) == 1 else "One answer to steps"
    return f"{word} {', '.join(map(str, steps))}: {clean(', '.join(steps.values()))}"


def citations(cell: CellEvidence) -> Markup:
    """Each with its verdict and why; its lines stand once on the page, for all who cite them."""
    summary = element("summary", "Citations ", element("span", sizes(cell), class_="why"))
    rows = (_citation(cell, number) for number in range(len(cell.cited)))
    return element("details", summary, element("ol", *rows))


def _citation(cell: CellEvidence, number: int) -> Markup:
    citation, verdict = cell.cited[number].citation, verdict_of(cell.cited[number].citation)
    href = _lines_link(cell, number)
    written = clean(citation.written, 200)
    shown = element("a" if href else "span", written, href=href, class_=_class_of(verdict))
    doubt = "; what is said of it is not there" if verdict == "weak" else ""
    why = f"{clean(meant(citation), 300)} {verdict}: {clean(citation.reason, 300)}{doubt}"
    return element("li", shown, " ", why.strip(), id=citation_anchor(cell.cell.id, number))


def _lines_link(cell: CellEvidence, number: int) -> str | None:
    """None where there is no such place at the commit."""
    cited = cell.cited[number]
    return f"#{lines_anchor(cell.repository, cited.citation)}" if cited.excerpt else None


def fact_said(cell: CellEvidence, number: int, *, quoted: bool) -> Markup:
    """The verdict on one fact, which leads to what of the answer it was read from, and back."""
    fact, cell_id = facts_of(cell)[number], cell.cell.id
    href, own = quote_anchor(cell_id, number), fact_anchor(cell_id, number)
    words: list[object] = [
        element("a", fact.verdict, href=f"#{href}") if quoted else fact.verdict,
        f" {fact.credit:+.2f}" if fact.credit not in (0, 1) else None,
        element("q", clean(fact.quote, QUOTE_SHOWN)) if fact.quote and not quoted else None,
        element("small", clean(fact.reason, 300)) if fact.reason else None,
    ]
    return element("td", *words, id=own if quoted else None, class_=fact.verdict)


def sizes(cell: CellEvidence) -> str:
    """`7 of 9 citations hold`."""
    counted = [it.citation for it in cell.cited if it.citation.start is not None]
    held = sum(it.status == "grounded" for it in counted)
    return f"{held} of {len(counted)} citations hold"
