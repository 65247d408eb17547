"""Lines are read in whatever language an answer is written."""

from __future__ import annotations

import pytest

from runner.grounding.tongues import with_english_lines
from runner.grounding.verify import ground
from tests.grounding.fakes import MemoryFiles
from tests.grounding.test_forms import places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Funktion `oeffne` steht in src/app.py, Zeile 42.", "app.py:42"),
        (
            "In `src/app.py` (Zeilen 42–60), siehe lib/text.py Z. 12-15.",
            "app.py:42-60 text.py:12-15",
        ),
        ("Der Aufruf in Zeile 88 von src/app.py; Zeile 91 gibt frei.", "app.py:88 app.py:91"),
        ("src/app.py ab Zeile 120 ff.", "app.py:120"),
        ("définie à la ligne 42 de src/app.py", "app.py:42"),
        ("`src/app.py`, lignes 42 à 60, puis lib/text.py (ligne 12)", "app.py:42-60 text.py:12"),
        ("aux lignes 10 et 20 du fichier lib/text.py", "text.py:10 text.py:20"),
        ("está en la línea 42 de src/app.py", "app.py:42"),
        ("En src/app.py, entre las líneas 88 y 91, se cierra.", "app.py:88-91"),
        ("está na linha 42 de src/app.py", "app.py:42"),
        ("`src/app.py` (linhas 42 a 60) e lib/text.py, linha 12", "app.py:42-60 text.py:12"),
        ("определена в src/app.py на строке 42", "app.py:42"),
        ("в строках 10 и 20 файла lib/text.py", "text.py:10 text.py:20"),
        ("函数 `open_it` 定义在 src/app.py 第 42 行。", "app.py:42"),
        ("在src/app.py的第88行调用，第91行返回。", "app.py:88 app.py:91"),
        ("`src/app.py`（第 120 至 130 行）", "app.py:120-130"),
        ("`open_it` は src/app.py の 42 行目で定義されています。", "app.py:42"),
        ("src/app.pyの88行目から91行目まで", "app.py:88-91"),
        ("`open_it` 함수는 src/app.py의 42번째 줄에 있습니다.", "app.py:42"),
        ("`src/app.py` 42-60행과 lib/text.py 12행을 참고하세요.", "app.py:42-60 text.py:12"),
        ("在src/app.py:42中调用，在lib/text.py:12-14中返回", "app.py:42 text.py:12-14"),
        ("src/app.py:42とlib/text.py:12です。", "app.py:42 text.py:12"),
        ("코드src/app.py:42에서 부른다", "app.py:42"),
    ],
)
def test_lines_are_read_as_in_english(text: str, expected: str) -> None:
    assert places(text) == expected.split()


def test_a_text_without_such_lines_stays_as_it_is() -> None:
    text = "La ligne de code est longue; Zeile für Zeile: src/app.py:42, 3 行, line 5."
    assert with_english_lines("A text of `src/app.py:42`.") == "A text of `src/app.py:42`."
    assert "ligne de code" in with_english_lines(text)


def test_a_tree_with_such_letters_in_its_paths_is_read_as_written() -> None:
    tree = MemoryFiles({"docs/説明v2.md": "a\n" * 9})

    [citation] = ground("docs/説明v2.md:3", tree).citations
    assert (citation.path, citation.start) == ("docs/説明v2.md", 3)
