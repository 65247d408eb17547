"""A text's verdicts, as a person reads them."""

from __future__ import annotations

from runner.grounding.verify import ground
from runner.report.citation_text import citations_text

SOURCE = b"class App:\n    def run(self):\n        return 1\n"


class Files:
    commit = "1" * 40

    def paths(self) -> frozenset[str]:
        return frozenset({"src/app.py"})

    def read(self, path: str) -> bytes:
        return {"src/app.py": SOURCE}[path]

    def blob_sha(self, path: str) -> str:
        return {"src/app.py": "2" * 40}[path]


def text_of(answer: str) -> str:
    grounding = ground(answer, Files())
    return citations_text("answer.md", Files.commit, grounding.citations, grounding.summary)


def test_each_citation_has_its_verdict_its_reason_and_the_file_it_means() -> None:
    prose = (
        "`App.run` (src/app.py:2) runs. `vanish` is at app.py:1. src/app.py:99 ends. "
        "See src/gone.py:1."
    )
    answer = f"{prose}\n\n### src/app.py\n- line 3: return\n"
    assert text_of(answer) == (
        "answer.md at 111111111111\n"
        "  ok   src/app.py:2: App.run: its definition is here\n"
        "  FAIL app.py:1 = src/app.py:1: vanish is not within 5 lines: not in the file\n"
        "  FAIL src/app.py:99: the file has 3 lines\n"
        "  ???? src/gone.py:1: no such file at the commit\n"
        "  ok   line 3 = src/app.py:3: the lines exist; no symbol is named\n"
        "  5 citations: 2 grounded, 1 unresolved, 2 hallucinated\n"
        "  paths: 3 exact, 1 shortened, 0 ambiguous, 1 missing, 0 of another commit, 0 unsure\n"
        "  rates: weighted 0.0%, strict 40.0%, headline 40.0%, by definition 50.0%, "
        "by chance 60.0%\n"
        "  worth: 40.0% name a symbol, 20 lines off 0.0% (headline 40.0%), "
        "200 lines off 0.0% (headline 40.0%)\n"
    )


def test_a_text_without_citations_says_so() -> None:
    assert (
        text_of("It works.")
        == "answer.md at 111111111111\n  no citations with a line: nothing to verify\n"
    )
