"""The page in a real browser: what a person can read, reach and be harmed by."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.report.html import PAGE_BYTES
from tests.page import browser
from tests.page.browser import Browser
from tests.page.made import REPOSITORIES, MadeRun, Maker

AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"
PICTURES = Path(__file__).parents[2] / "docs/pictures"
SERIOUS = ("serious", "critical")
RUNS = ("three", "hostile", "broken")
needs_chromium = pytest.mark.skipif(
    browser.found() is None, reason="no Chromium here: `just test-page` installs one"
)
needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason="axe-core is not here: `just test-page` installs it"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MadeRun]]:
    maker = Maker(tmp_path_factory.mktemp("pages"))
    found = {
        "three": maker.run("three", ["codegraph", "cclsp"], REPOSITORIES, 2),
        "hostile": maker.run("hostile", ["codegraph"], ["alpha"], hostile=True),
        "broken": maker.run("broken", ["codegraph"], ["alpha", "bravo"], broken=1, gate=None),
    }
    for one in found.values():
        one.write()
    yield found
    maker.close()


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    with browser.opened() as opened:
        yield opened


def shown(page: Browser, run: MadeRun, anchor: str = "", **looks: Any) -> Browser:
    page.looks(**looks)
    page.open(run.folder / "report.html", anchor)
    return page


def text_of(run: MadeRun) -> str:
    return (run.folder / "report.html").read_text("utf-8")


# --- what it says ---------------------------------------------------------------------------


def test_the_verdict_stands_first_with_its_interval_and_its_price(
    made: dict[str, MadeRun],
) -> None:
    (first,) = re.findall(r"<h1>(.*?)</h1>", text_of(made["three"]))
    assert re.fullmatch(
        r"With codegraph the answers are better by \d\.\d+ \[\d\.\d+, \d\.\d+\] "
        r"\(8 scenarios, 2 trials\), for \d\.\d × the tokens\.",
        first,
    )
    assert "Nobody is ranked" in re.findall(r"<h1>(.*?)</h1>", text_of(made["broken"]))[0]


def test_no_bar_stands_without_its_interval(made: dict[str, MadeRun]) -> None:
    for run in made.values():
        for row in text_of(run).split('class="name"')[1:]:
            assert 'class="phase' not in row or 'class="reach"' in row
    # Two clusters are too few: cells are points, and it says so.
    assert "no interval: too few" in text_of(made["broken"])
    assert 'class="phase' not in text_of(made["broken"])


def test_every_cell_and_citation_has_an_address_of_its_own(made: dict[str, MadeRun]) -> None:
    for run in made.values():
        ids = re.findall(r'\bid="([^"]+)"', text_of(run))
        assert len(ids) == len(set(ids))
        for cell in run.run.cells:
            assert f"cell-{cell.cell.id[:16]}" in ids
        links = re.findall(r'href="#([^"]+)"', text_of(run))
        assert set(links) <= set(ids) and len(links) > 20


def test_the_same_run_gives_the_same_page(made: dict[str, MadeRun]) -> None:
    before = text_of(made["three"])
    assert made["three"].write().read_text("utf-8") == before


def test_sixty_cells_are_one_file_and_more_lie_beside_it(
    made: dict[str, MadeRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made["three"]
    each = len(text_of(run).encode()) / len(run.run.cells)
    assert each * 60 < PAGE_BYTES
    monkeypatch.setattr("runner.report.html.PAGE_BYTES", 400_000)
    page = run.write()
    beside = sorted((run.folder / "pages").glob("*.html"))
    assert len(beside) == len(run.data.blocks) and page.stat().st_size < 400_000
    for target in re.findall(r'href="(pages/[^"#]+)#([^"]+)"', page.read_text("utf-8")):
        name, anchor = target
        assert f'id="{anchor}"' in (run.folder / name).read_text("utf-8")
    monkeypatch.undo()
    run.write()
    assert not list((run.folder / "pages").glob("*.html"))


# --- in the browser -------------------------------------------------------------------------


@needs_chromium
@pytest.mark.parametrize("name", RUNS)
def test_it_asks_for_nothing_and_its_policy_refuses_nothing_of_its_own(
    made: dict[str, MadeRun], page: Browser, name: str
) -> None:
    shown(page, made[name])
    page.asked("new Promise(done => setTimeout(done, 200))")
    assert page.requests == [(made[name].folder / "report.html").as_uri()]
    assert page.refused == []


@needs_chromium
def test_a_request_that_somebody_smuggled_in_would_be_refused(
    made: dict[str, MadeRun], page: Browser, tmp_path: Path
) -> None:
    evil = '<img src="http://127.0.0.1:9/x.png"><script>window.harmed = 1</script></main>'
    forged = tmp_path / "forged.html"
    forged.write_text(text_of(made["three"]).replace("</main>", evil))
    page.open(forged)
    assert page.asked("window.harmed") is None
    assert any("Content Security Policy" in text for text in page.refused)


@needs_chromium
def test_hostile_texts_harm_nothing(made: dict[str, MadeRun], page: Browser) -> None:
    shown(page, made["hostile"])
    assert page.asked("window.harmed") is None
    assert page.asked("document.querySelectorAll('img, iframe, object, form').length") == 0
    assert page.asked("document.querySelectorAll('script').length") == 1
    assert page.asked("document.querySelectorAll('a[href^=javascript]').length") == 0
    assert page.asked("document.querySelectorAll('a:not([href^=\"#\"])').length") == 0
    assert page.asked("document.body.innerText.includes('fairtrial')") is True
    text = text_of(made["hostile"])
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\ue000", "\uf8ff"}
    assert len(text.encode()) < 1_000_000


@needs_chromium
@pytest.mark.parametrize("scripts", [True, False])
def test_every_citation_opens_its_lines_without_a_script_too(
    made: dict[str, MadeRun], page: Browser, scripts: bool
) -> None:
    run = made["three"]
    page.scripts(on=scripts)
    try:
        targets = re.findall(r'href="(#cell-[0-9a-f]+-cite-\d+)"', text_of(run))
        assert len(targets) > 100
        for target in list(dict.fromkeys(targets))[::25]:
            shown(page, run, target)
            seen = page.asked(
                f"(() => {{ const it = document.querySelector('{target}');"
                "return [it.getClientRects().length, it.textContent]; })()"
            )
            assert seen[0] == 1, target
            assert "app.py" in seen[1] or "No such lines" in seen[1]
    finally:
        page.scripts(on=True)


@needs_chromium
def test_every_citation_of_the_run_leads_to_lines_that_hold_what_is_cited(
    made: dict[str, MadeRun], page: Browser
) -> None:
    run = made["three"]
    shown(page, run)
    found = page.asked(
        "[...document.querySelectorAll('.answer a.cite')].map(link => {"
        "const box = document.querySelector(link.getAttribute('href'));"
        "return [link.textContent, link.className, [...box.querySelectorAll('mark')]"
        ".map(it => it.textContent).join('')]; })"
    )
    assert len(found) > 200
    for written, class_, lines in found:
        line = written.partition(":")[2]
        if {"grounded", "weak"} & set(class_.split()):
            assert re.match(rf"\s*{line}  \s*\S", lines), (written, lines)
        else:
            assert lines == "", written


@needs_chromium
def test_from_the_verdict_to_a_line_of_source_it_is_two_clicks(
    made: dict[str, MadeRun], page: Browser
) -> None:
    shown(page, made["three"])
    page.click(".heat td a")
    cell = page.asked("location.hash")
    page.click(f"{cell} .answer a.cite")
    line = page.asked("location.hash")
    assert line.startswith(f"{cell}-cite-")
    assert page.asked(f"document.querySelector('{line} mark').getClientRects().length") == 1


@needs_chromium
def test_keys_alone_reach_blocks_the_filter_and_an_answer(
    made: dict[str, MadeRun], page: Browser
) -> None:
    shown(page, made["three"])
    focused = "document.activeElement.closest('.block')?.querySelector('summary').textContent"
    page.press("j")
    assert page.asked(focused).startswith("alpha")
    page.press("j")
    page.press("j")
    assert page.asked(focused).startswith("bravo")
    page.press("k")
    assert page.asked(focused).startswith("alpha")
    page.press("Enter")
    assert page.asked("document.activeElement.parentElement.open") is True
    page.press("/")
    for letter in "golf":
        page.press(letter)
    visible = "[...document.querySelectorAll('.block')].filter(it => !it.hidden).length"
    assert page.asked(visible) == 2
    page.press("Escape")
    page.press("j")
    assert page.asked(focused).startswith("golf")


@needs_chromium
def test_the_first_differing_call_is_marked_and_the_same_ones_can_be_hidden(
    made: dict[str, MadeRun], page: Browser
) -> None:
    shown(page, made["three"])
    page.asked("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    is_of_calls = "it => it.rows[0].cells[0].textContent === 'step'"
    tables = f"[...document.querySelectorAll('.beside table')].filter({is_of_calls})"
    assert page.asked(f"{tables}.every(it => it.querySelectorAll('tr.first').length === 1)")
    same = f"{tables}[0].querySelector('tr.same').getClientRects().length"
    assert page.asked(same) == 1
    page.asked(f"{tables}[0].closest('.beside').querySelector('.only').click()")
    assert page.asked(same) == 0


@needs_chromium
def test_tables_and_drawings_are_saved_as_csv_and_svg(
    made: dict[str, MadeRun], page: Browser, tmp_path: Path
) -> None:
    page.do("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    shown(page, made["broken"])
    page.asked("document.querySelector('.figure > button').click()")
    page.asked("document.querySelector('.scroll + button').click()")
    until = time.monotonic() + 20
    while time.monotonic() < until and len(list(tmp_path.glob("*.[cs][sv][vg]"))) < 2:
        time.sleep(0.1)
    (drawing,) = tmp_path.glob("*.svg")
    (table,) = tmp_path.glob("*.csv")
    # Whoever is sent one of them alone has to see that nothing vouches for it.
    assert "UNGATED" in drawing.name and "UNGATED" in drawing.read_text("utf-8")
    assert "UNGATED" in table.name
    assert 'xmlns="http://www.w3.org/2000/svg"' in drawing.read_text("utf-8")
    assert table.read_text("utf-8").splitlines()[0].startswith('"scenario, step",shell')


@needs_chromium
@needs_axe
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", RUNS)
def test_axe_finds_nothing_serious(
    made: dict[str, MadeRun], page: Browser, name: str, dark: bool
) -> None:
    shown(page, made[name], dark=dark)
    page.asked("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    page.asked(AXE.read_text("utf-8") + "; 1")
    found = page.asked(
        "axe.run(document, {resultTypes: ['violations']}).then(it => it.violations.map("
        "one => [one.impact, one.id, one.nodes.length, one.nodes[0].html.slice(0, 200),"
        "one.nodes[0].failureSummary]))"
    )
    assert [one for one in found if one[0] in SERIOUS] == []


@needs_chromium
@pytest.mark.parametrize("name", RUNS)
def test_a_phone_shows_it_without_scrolling_sideways(
    made: dict[str, MadeRun], page: Browser, name: str
) -> None:
    shown(page, made[name], width=360, height=740)
    page.asked("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    assert page.asked("document.documentElement.scrollWidth") <= 360


@needs_chromium
def test_paper_has_the_verdict_and_all_around_it_on_its_first_sheet(
    made: dict[str, MadeRun], page: Browser
) -> None:
    shown(page, made["three"])
    page.do("Emulation.setEmulatedMedia", media="print")
    page.looks(width=794, height=1123)
    try:
        assert page.asked("document.querySelector('#differences').getBoundingClientRect().y") < 1123
        assert page.printed().startswith(b"%PDF-")
    finally:
        page.do("Emulation.setEmulatedMedia", media="")


@needs_chromium
def test_pictures_for_the_pages_of_the_docs(
    made: dict[str, MadeRun], page: Browser, tmp_path: Path
) -> None:
    """They are made anew where FAIRTRIAL_PICTURES says so; else only that they can be."""
    folder = PICTURES if os.environ.get("FAIRTRIAL_PICTURES") else tmp_path
    folder.mkdir(exist_ok=True)
    looks: dict[str, dict[str, Any]] = {
        "report-light": {"width": 1000, "height": 1250},
        "report-dark": {"width": 1000, "height": 1250, "dark": True},
        "report-phone": {"width": 360, "height": 740},
    }
    for name, look in looks.items():
        shown(page, made["three"], **look).picture(folder / f"{name}.webp")
    cell = made["three"].run.cells[1].cell.id[:16]
    shown(page, made["three"], f"#cell-{cell}-cite-2", width=1000, height=900)
    page.asked(f"document.querySelector('#cell-{cell}').scrollIntoView()")
    page.picture(folder / "report-answer.webp")
    sizes = [it.stat().st_size for it in folder.glob("report-*.webp")]
    assert len(sizes) == 4 and sum(sizes) < 300_000, json.dumps(sizes)
