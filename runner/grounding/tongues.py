"""Lines as other languages write them: of `Zeile 150`, `第 150 行`, `150번째 줄` makes `line 150`.

What is read afterwards need know English alone. Only what stands beside a number is touched.
"""

from __future__ import annotations

import re

_STEMS = (
    "zeile|z. |ligne|linea |linea:|lineas|linha|riga|righe|regel|wiersz|linia|linii|linje|rad "
).split("|")
_OTHER_STEMS = "línea|linię|dòng|satır|řád|строк|стр.|рядо|рядк|行|줄|행|라인".split("|")
"""What a word below begins with, in small letters."""
IS_AT = (
    r"findet|steht|liegt|befindet|sich|ist|sind|wird|werden|definiert|deklariert|implementiert|bei"
    r"|der|das|den|dem|Datei|se|trouve|situe|est|défini[es]{0,2}|déclaré[es]{0,2}|dans|à|le|la"
    r"|fichier|está|encuentra|define|definid[oa]|declarad[oa]|implementad[oa]|en|el|archivo|fica"
    r"|é|em|arquivo|находится|определ[её]н[аоы]?|объявлен[аоы]?|реализован[аоы]?|в|файле"
    r"|si|trova|è|definit[oa]|nel|staat|gedefinieerd"
    r"|(?:的|定义|定義|声明|宣言|实现|実装|位于|位於|在|于|於|见|参见|は|が|에|은|는|이|가|있다|정의)+"
)
"""What other languages say between a name and its place."""
_TO = r"\s?(?:-|–|—|~|〜|～|\bbis\b|\bà\b|\ba\b|\bal\b|\bpor\b|\bпо\b|至|到|から|부터|에서)\s?"
_AND = (
    r"\s?(?:,|、|，|\bund\b|\bet\b|\by\b|\be\b|\bi\b|\ben\b|\bog\b|\boch\b|\bи\b|和|と|및|와|과)\s?"
)
_NUMBERS = rf"\d{{1,7}}(?:(?:{_TO}|{_AND})\d{{1,7}}){{0,20}}"
_WORD = r"""
    (?:(?<=[\s(,;:`'"（])|\A)
    (?: Zeilen?(?:nummern?)? | Z\. | lignes? | l[ií]neas? | linhas? | rig[ah]e? | regels?
      | строк[а-я]{0,3} | стр\. | ряд(?:ок|к[а-яіїє]{1,3}) | wiersz(?:e|u|y|ach)? | lini[aię]i?
      | řád(?:ek|k[uyůa]|cích) | rad(?:en|erna)? | linjer? | dòng
      | satır )
    (?:\s(?:n[°º.]|nr\.?|número|numéro|№))?
"""
_BETWEEN = (
    r"(?:(?P<between>\b(?:entre|zwischen|между|fra|tra|tussen))\s(?:las\s|les\s|as\s|den\s)?)?"
)
_BEFORE = re.compile(
    rf"{_BETWEEN}(?:{_WORD}|第|行(?=\s?\d)|줄|라인)[\s:：]{{0,2}}(?P<listed>{_NUMBERS})",
    re.X | re.I,
)
_BEHIND = re.compile(
    rf"""
    (?:第\s?)?(?P<listed>{_NUMBERS})(?:-?(?:й|я|ю|е|ой|ую|ю)|\.)?\s?
    (?:行目?|번째\s?(?:줄|행)|번\s?줄|행|줄|라인|строк[а-я]{{0,3}}|satır\w{{0,9}})(?:까지)?
    """,
    re.X,
)
_TITLE = re.compile(
    r"(?<=\|)\s{0,9}(?:Zeilen?|Lignes?|L[ií]neas?|Linhas?|Rig[ah]e?|Regels?|Строк[аи]|行[号號数數]?|줄|행)"
    r"\s{0,9}(?=\|)",
    re.I,
)
"""Of a table's column of lines: `| Zeile |`."""
_LINE = r"lines?\s\d{1,7}"
_TWICE = re.compile(rf"line (?P<first>\d{{1,7}}){_TO}line (?P<last>\d{{1,7}})")
_LEAD = re.compile(
    rf"""
    \s?(?:\b(?:à|a|en|auf|bei|ab|na|nas|nelle?|alla|в|на|из)\b\s(?:la\s|las\s|les\s|der\s|den\s)?
      |[的中のにで의에]{{1,2}}\s?)(?={_LINE})
    """,
    re.X | re.I,
)
_OF = re.compile(
    rf"""
    (?P<line>{_LINE}(?:-\d{{1,7}})?(?:,\s\d{{1,7}}){{0,9}})\s
    (?:von|aus|der|im|de|del|du|dans|en|em|do|da|di|из|в|van)\s
    (?:(?:la|le|el|the|der|den)\s)?(?:(?:Datei|fichier|archivo|arquivo|файла|файле|file)\s)?(?=[`*(]{{0,2}}[\w./-]*\.\w)
    """,
    re.X | re.I,
)
_CJK = "[\\u3040-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7af]"
_MARKS = str.maketrans({"（": " (", "）": ") ", "，": ", ", "、": ", ", "：": ": ", "。": ". "})
_WIDE = re.compile(_CJK)
_GLUED = re.compile(
    rf"""
    (?<={_CJK})(?=[\w./@-]{{1,200}}(?::|\#L)\d)     # 位于src/app.py:42
  | (?P<behind>(?::|\#L)\d{{1,7}}(?:[-–]\d{{1,7}})?)(?={_CJK})  # src/app.py:42です
    """,
    re.X | re.A,
)
_TO_ALONE, _AND_ALONE = re.compile(_TO), re.compile(_AND)


def may_be_unspaced(text: str) -> bool:
    """Has it letters of a language whose words stand against a path without a blank?"""
    return bool(_WIDE.search(text))


def spaced(text: str) -> str:
    """With a blank between such a word and a place: `\\w` would take both for one path."""
    return _GLUED.sub(lambda found: f"{found['behind'] or ''} ", text)


def with_english_lines(text: str) -> str:
    """The text, with `line` for each other language's word; the same if it has none."""
    lowered, stems = text.lower(), _STEMS if text.isascii() else (*_STEMS, *_OTHER_STEMS)
    if not any(stem in lowered for stem in stems):
        return text
    is_unspaced = any(sign in text for sign in ("行", "줄", "행", "라인"))
    if is_unspaced:
        # Their words stand against a path without a blank, and `\w` takes both for one.
        text = re.sub(rf"(?<=[A-Za-z`)])(?={_CJK})", " ", text).translate(_MARKS)
        text = re.sub(r"(?<=[在见於于从到和与及看と])(?=[\w./-]{1,200}\.\w)", " ", text)
    text = _TITLE.sub(" Line ", _BEFORE.sub(_line, _BEHIND.sub(_line, text)))
    if is_unspaced:
        text = re.sub(rf"(?<={_CJK})(?=line\s\d)|(?<=\d)(?={_CJK})", " ", text)
    text = _TWICE.sub(r"lines \g<first>-\g<last>", text)
    return _OF.sub(r"\g<line> of ", _LEAD.sub(" at ", text))


def _line(found: re.Match[str]) -> str:
    is_between = "between" in found.re.groupindex and found["between"]
    listed = _AND_ALONE.sub("-" if is_between else ", ", _TO_ALONE.sub("-", found["listed"]))
    return f"line {listed}"
