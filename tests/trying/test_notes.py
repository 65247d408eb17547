"""Which words of its prose a health probe is made of."""

from __future__ import annotations

from pathlib import Path

from runner.authoring.onboarding.notes import notes_of
from runner.authoring.onboarding.targets import TargetSymbol
from runner.grounding.commit_files import GitFiles
from tests.proposing.trees import commit


def notes(tmp_path: Path, files: dict[str, str]) -> list[TargetSymbol]:
    with GitFiles(tmp_path, commit(tmp_path, files)) as repository:
        return notes_of(repository)


def test_a_word_that_one_line_has_is_taken_and_prose_goes_before_data(tmp_path: Path) -> None:
    found = notes(
        tmp_path,
        {
            "data.json": '{"wonderful": "a text with a telling end"}\n',
            "README.md": "# Common\n\nA common server of common words.\nIt dispatches by name.\n",
            "docs/guide.md": "A common server that explains templates.\n",
        },
    )
    assert [(note.path, note.line, note.name) for note in found] == [
        ("README.md", 4, "dispatches"),
        ("docs/guide.md", 1, "explains"),
        ("data.json", 1, "wonderful"),
    ]


def test_hidden_files_and_code_and_long_files_are_no_prose(tmp_path: Path) -> None:
    long = "Everything that is wonderful is written here.\n" * 400
    files = {".github/x.md": "A wonderful description of it.\n", "a.py": "x = 1\n", "l.md": long}
    assert notes(tmp_path, files) == []
