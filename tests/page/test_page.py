"""The page in a real browser: what a person can read, reach and be harmed by."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest

from runner.cli.verbs import demo
from runner.records import AnswerStep
from runner.records.transcript_files import iter_transcript
from runner.report.cell_text import cell_text
from runner.report.html import PAGE_BYTES
from runner.report.html import pages as pages_of
from runner.report.html.answers import MarkedAnswer, answers
from runner.report.records import Report
from runner.report.repeat import how_to_repeat
from runner.report.view import view_of
from tests.importers.test_runs import Here, good, shell, template
from tests.page import browser
from tests.page.browser import Browser
from tests.page.large import as_large_as_real
from tests.page.made import REPOSITORIES, MadeRun, Maker, exact, plain
from tests.report.loaded import GATE, KEYS

__all__ = ["template"]
PICTURES = Path(__file__).parents[2] / "docs/pictures"
ONE = "It goes from `dispatch_all` (`app.py:11`) on."
SERIOUS = ("serious", "critical")
SERVERS = ("codegraph", "cclsp", "code-index-mcp")
PAGES = ("three", "grid", "broken", "demo", "exact", "import", "hostile")
"""Of which there are pages. `grid`: three servers, six scenarios, three trials."""


LINES_OF = (
    "(at => { if (!at.matches('.source i')) return ''; let after = '';"
    "for (let it = at.nextSibling; it; it = it.nextSibling)"
    "  if (it.nodeType === 3) after += it.data;"
    "return after.split('\\n').slice(0, at.textContent.length).join('\\n'); })"
)
"""The lines that a place among those of a file has; none of anything else."""
LINES_LED_TO = (
    "(() => { const at = document.querySelector(':target');"
    f"return at.checkVisibility({{visibilityProperty: true}}) ? {LINES_OF}(at) : ''; }})()"
)


def axe() -> str:
    """axe-core, which the browser is given; empty where its wheel is not (locks/page.txt)."""
    with suppress(PackageNotFoundError):
        for file in files("axe-playwright-python") or ():
            if file.name == "axe.min.js":
                return file.read_text("utf-8")
    return ""


needs_chromium = pytest.mark.skipif(
    browser.found() is None, reason="no Chromium here: `./justw test-page` installs one as root"
)
needs_axe = pytest.mark.skipif(
    not axe(), reason="axe-core is not here: `./justw test-page` installs it"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MadeRun]]:
    maker = Maker(tmp_path_factory.mktemp("pages"))
    few = plain(REPOSITORIES[:2])
    found = {
        "three": maker.run("three", SERVERS[:2], plain(REPOSITORIES), 2),
        "grid": maker.run("grid", SERVERS, plain(REPOSITORIES[:6]), 3),
        "broken": maker.run("broken", SERVERS[:1], few, 2, broken=2, gate=None),
        # As `fairtrial demo` asks it: its own needs minutes, an engine and registries.
        "demo": maker.run("demo", demo.SERVERS[1:], plain(demo.SCENARIOS), model="offline"),
        "exact": maker.run("exact", SERVERS[:1], exact(maker.commit), gate=KEYS),
        "hostile": maker.run("hostile", SERVERS[:1], plain(["alpha"]), hostile=True),
    }
    for one in found.values():
        one.write()
    yield found
    maker.close()


@pytest.fixture(scope="module")
def pages(
    made: dict[str, MadeRun], template: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Each page's file; the import's is of the command itself."""
    root = tmp_path_factory.mktemp("imported") / "here"
    shutil.copytree(template, root, ignore=shutil.ignore_patterns("upstream"))
    here = Here(root=root)
    assert here.bring(f"shell={shell(here)}", f"good={good(here)}") == 0
    return {name: one.folder / "report.html" for name, one in made.items()} | {
        "import": here.store.folder / "report.html"
    }


@pytest.fixture(scope="module")
def large(made: dict[str, MadeRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of sixty cells, each as large as a real one."""
    run = made["grid"]
    folder = tmp_path_factory.mktemp("large")
    for name, content in pages_of(run.report, as_large_as_real(run.data, 60)):
        (folder / name.replace("/", "-")).write_text(content, "utf-8")
    return folder / "report.html"


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    with browser.opened() as opened:
        yield opened


def shown(page: Browser, run: MadeRun | Path, anchor: str = "", **looks: Any) -> Browser:
    page.looks(**looks)
    page.open(run if isinstance(run, Path) else run.folder / "report.html", anchor)
    return page


def all_open(page: Browser) -> None:
    page.asked("document.querySelectorAll('details').forEach(it => { it.open = true; })")


def text_of(run: MadeRun) -> str:
    return (run.folder / "report.html").read_text("utf-8")


# --- what it says ---------------------------------------------------------------------------


def test_the_verdict_stands_first_with_its_interval_and_its_price(
    made: dict[str, MadeRun],
) -> None:
    (first,) = re.findall(r"<h1>(.*?)</h1>", text_of(made["three"]))
    first = re.sub("</?b>", "", first)
    assert re.fullmatch(
        r"With codegraph the answers are better by \d\.\d+ \[\d\.\d+, \d\.\d+\] "
        r"\(8 scenarios, 2 trials\), for \d\.\d × the tokens\.",
        first,
    )
    assert "Nobody is ranked" in re.findall(r"<h1>(.*?)</h1>", text_of(made["broken"]))[0]
    assert "8 cells planned, 6 measured, 2 broken" in text_of(made["broken"])


def test_what_is_screened_or_imported_stands_once_above_all_figures_and_in_each_drawing(
    pages: dict[str, Path],
) -> None:
    for path in pages.values():
        text = path.read_text("utf-8")
        report = Report.model_validate_json(path.with_name("report.json").read_text("utf-8"))
        body = text.partition("</title>")[2]
        head, main = body.partition("<main")[::2]
        for mark in report.marks:
            assert head.count(mark) == 1, (path, mark)
        assert not re.search(r"<h[123][^>]*>[^<]*(SCREENING|UNGATED|IMPORTED)", main)
        for drawing in re.findall(r'<svg class="drawing.*?</svg>\s*<figcaption', main, re.DOTALL):
            assert " · ".join(report.marks) in drawing


def test_the_strip_says_all_that_a_figure_stands_on(made: dict[str, MadeRun]) -> None:
    text, repeat = text_of(made["three"]), made["three"].report.repeat
    strip = text.partition('<dl class="facts strip">')[2].partition("</dl>")[0]
    held = {repeat.plan_digest, repeat.evidence_digest, *repeat.versions["base_image"]}
    held |= {it["commit"] for it in repeat.scenarios.values()}
    held |= {*repeat.versions["model"], GATE.lock, "<dd>7</dd>", "fairtrial attest three"}
    assert all(one in strip for one in held)
    assert repeat.command in text


def test_another_result_is_another_evidence(made: dict[str, MadeRun]) -> None:
    run = made["broken"].run
    before = how_to_repeat(run, view_of(run), {}, {}).evidence_digest
    last = run.cells[-1]
    assert last.result is not None
    other = replace(last, result=last.result.model_copy(update={"transcript": "f" * 64}))
    for cells in ((*run.cells[:-1], other), run.cells[:-1]):
        changed = replace(run, cells=cells)
        assert how_to_repeat(changed, view_of(changed), {}, {}).evidence_digest != before


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


def test_one_answer_to_several_steps_stands_once(made: dict[str, MadeRun]) -> None:
    cell = made["three"].data.blocks[0].cells[0]
    steps = [
        AnswerStep(name=name, prompt="All?", text=text, completed=True)
        for name, text in [("trace", ONE), ("callers", ONE), ("tests", "In `app.py:21`.")]
    ]
    shown = "".join(answers(MarkedAnswer(replace(cell, answer=tuple(steps)))))
    assert shown.count("dispatch_all") == 1 and shown.count("<section>") == 2
    assert "One answer to steps 1, 2: trace, callers" in shown and "Step 3: tests" in shown


def test_the_same_run_gives_the_same_page(made: dict[str, MadeRun]) -> None:
    before = text_of(made["three"])
    assert made["three"].write().read_text("utf-8") == before


def test_sixty_cells_as_large_as_real_ones_are_one_file_of_less_than_five_megabytes(
    large: Path,
) -> None:
    text = large.read_text("utf-8")
    assert [it.name for it in large.parent.iterdir()] == ["report.html"]
    assert PAGE_BYTES == 5_000_000 and len(text.encode()) < PAGE_BYTES
    assert text.count('class="cell"') == 60 and text.count('class="cite"') > 6000
    # A published run's ten cells, each different, were 736,000 bytes, and had no facts or seconds.
    assert len(text.encode()) > 60 * 55_000


def test_cells_of_a_larger_run_lie_beside_its_page(
    made: dict[str, MadeRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made["three"]
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


def test_hostile_texts_steer_no_terminal(made: dict[str, MadeRun]) -> None:
    for cell in made["hostile"].run.cells:
        assert cell.counted is not None
        told = cell_text(cell, tuple(iter_transcript(cell.counted.transcript)))
        assert not [char for char in told if char != "\n" and category(char) in ("Cc", "Cf")]
        assert re.search(r"5,\d{3},\d{3} characters", told) and len(told) < 300_000


# --- in the browser -------------------------------------------------------------------------


@needs_chromium
@pytest.mark.parametrize("name", PAGES)
def test_it_asks_for_nothing_and_its_policy_refuses_nothing_of_its_own(
    pages: dict[str, Path], page: Browser, name: str
) -> None:
    shown(page, pages[name])
    all_open(page)
    page.asked("new Promise(done => setTimeout(done, 200))")
    assert page.requests == [pages[name].as_uri()]
    assert page.refused == []


@needs_chromium
def test_the_first_words_of_sixty_large_cells_stand_within_a_second(
    large: Path, page: Browser
) -> None:
    first = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 1e9"
    took_ms = []
    # The best of some: others may use this machine.
    for _ in range(8):
        shown(page, large)
        page.asked("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        took_ms.append(page.asked(first))
        if took_ms[-1] <= 1000:
            break
    assert min(took_ms) <= 1000, took_ms


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
@pytest.mark.parametrize("name", ["broken", "demo", "exact", "import", "hostile"])
def test_every_citation_of_a_run_opens_its_lines(
    pages: dict[str, Path], page: Browser, name: str
) -> None:
    shown(page, pages[name])
    seen = page.asked(
        "(async () => { const seen = [];"
        "const links = document.querySelectorAll('.answer a.cite');"
        "for (const hash of new Set([...links].map(it => it.hash))) {"
        "  document.querySelectorAll('details').forEach(it => { it.open = false; });"
        "  await new Promise(done => { addEventListener('hashchange', done, {once: true});"
        "    location.hash = ''; location.hash = hash; });"
        "  const at = document.querySelector(':target');"
        "  const is_seen = at?.checkVisibility({visibilityProperty: true}) ?? false;"
        "  const is_near = Math.abs(at?.getBoundingClientRect().top) < innerHeight;"
        "  seen.push([hash, is_seen && is_near && at.matches('.source i, li')]);"
        "} return seen; })()"
    )
    assert seen and all(is_seen for _, is_seen in seen), seen


@needs_chromium
@pytest.mark.parametrize("scripts", [True, False])
def test_a_shared_link_to_a_cell_or_citation_opens_it_without_a_script_too(
    made: dict[str, MadeRun], page: Browser, scripts: bool
) -> None:
    run = made["three"]
    page.scripts(on=scripts)
    try:
        for cell in run.run.cells[::16]:
            anchor = f"cell-{cell.cell.id[:16]}"
            inside = f'id="{anchor}".*?href="#([^"]+:11)"'
            (lines,) = re.findall(inside, text_of(run), re.DOTALL)[:1]
            for target in (anchor, f"{anchor}-cite-1", lines):
                shown(page, run, f"#{target}")
                at = f"document.getElementById('{target}')"
                assert page.asked(f"{at}.checkVisibility({{visibilityProperty: true}})"), target
    finally:
        page.scripts(on=True)


@needs_chromium
def test_a_script_adds_buttons_and_a_filter_and_holds_no_word(
    made: dict[str, MadeRun], page: Browser
) -> None:
    words = (
        "(() => { const it = document.body.cloneNode(true);"
        "it.querySelectorAll('button, .filter, script').forEach(one => one.remove());"
        "return it.textContent.replace(/\\s+/g, ' '); })()"
    )
    shown(page, made["broken"])
    with_script = page.asked(words)
    page.scripts(on=False)
    try:
        shown(page, made["broken"])
        assert page.asked("document.querySelectorAll('button').length") == 0
        assert page.asked(words) == with_script
        page.click(".block > summary")
        page.click(".block .cell > summary")
        assert page.asked("document.querySelector('.answer').checkVisibility()")
    finally:
        page.scripts(on=True)


@needs_chromium
def test_cells_beside_a_page_open_from_its_figures_and_from_links_that_were_shared(
    made: dict[str, MadeRun], page: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made["three"]
    monkeypatch.setattr("runner.report.html.PAGE_BYTES", 400_000)
    run.write()
    try:
        shown(page, run)
        page.click(".heat td a")
        page.loaded()
        assert "/pages/block-" in page.asked("location.pathname")
        cell = page.asked("location.hash")
        page.click(f"{cell} .answer a.cite")
        assert "def dispatch_all" in page.asked(LINES_LED_TO)
        shown(page, run, f"{cell}-cite-1")
        page.loaded()
        assert "/pages/block-" in page.asked("location.pathname")
        assert page.asked(f"document.querySelector('{cell}-cite-1').checkVisibility()")
        shown(page, run)
        page.press("/")
        for letter in "golf":
            page.press(letter)
        seen = "[...document.querySelectorAll('.block')].filter(it => !it.hidden)"
        assert page.asked(f"{seen}.map(it => it.querySelectorAll('a').length)") == [4, 4]
        assert page.refused == []
    finally:
        monkeypatch.undo()
        run.write()


@needs_chromium
def test_every_citation_of_the_run_leads_to_lines_that_hold_what_is_cited(
    made: dict[str, MadeRun], page: Browser
) -> None:
    run = made["three"]
    shown(page, run)
    found = page.asked(
        "[...document.querySelectorAll('.answer a.cite')].map(link => {"
        f"const at = document.getElementById(link.hash.slice(1)); const lines = {LINES_OF}(at);"
        "return [link.textContent, link.className, lines]; })"
    )
    assert len(found) > 200
    for written, class_, lines in found:
        line = written.partition(":")[2]
        if class_ in ("cite", "cite weak"):
            assert re.fullmatch(rf"\s*{line}  \s*\S.*", lines), (written, lines)
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
    assert page.asked(LINES_LED_TO).strip() == "11      def dispatch_all(self, request):"


def test_each_cited_line_stands_once_on_a_page(made: dict[str, MadeRun]) -> None:
    files = re.findall(r'<pre class="source".*?</pre>', text_of(made["three"]), re.DOTALL)
    numbers = [re.findall(r"^ *(?:<i.*?</i>)* *(\d+)  ", it, re.M | re.DOTALL) for it in files]
    assert len(numbers) == 8 and all(len(it) > 20 for it in numbers)
    assert all(len(it) == len(set(it)) for it in numbers)


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
def test_tab_alone_reaches_all_that_can_be_clicked_on_and_enter_opens_lines(
    made: dict[str, MadeRun], page: Browser
) -> None:
    shown(page, made["broken"])
    page.press("j")
    page.press("Enter")
    clicked = (
        "[...document.querySelectorAll('a, summary, button, input')]"
        ".filter(it => it.checkVisibility())"
    )
    page.asked(f"window.missing = new Set({clicked})")
    for _ in range(page.asked("window.missing.size + document.querySelectorAll('pre').length")):
        page.press("Tab")
        page.asked("window.missing.delete(document.activeElement) && 1")
        if not page.asked("window.missing.size"):
            break
    assert page.asked("[...window.missing].map(it => it.outerHTML.slice(0, 90))") == []
    cell = page.asked("document.querySelector('.cell > summary').focus() ?? 1")
    page.press("Enter")
    for _ in range(30):
        page.press("Tab")
        if page.asked("document.activeElement.matches('a.cite')"):
            break
    page.press("Enter")
    assert cell and "def dispatch_all" in page.asked(LINES_LED_TO)


@needs_chromium
def test_a_call_in_the_timeline_opens_what_it_asked_and_got_and_says_the_whole_size(
    made: dict[str, MadeRun], page: Browser
) -> None:
    shown(page, made["hostile"])
    page.press("j")
    page.press("Enter")
    page.click("svg.drawing a rect.span")
    assert "-call-1" in page.asked("location.hash")
    told = page.asked("document.querySelector(':target').innerText")
    assert re.search(r"… \(5,0\d\d,\d\d\d characters\)", told)
    assert len(told) < 10_000
    shown(page, made["three"])
    failed = [one for cell in made["three"].data.blocks[0].cells for one in cell.calls]
    errors = sum(bool(one.result and one.result.is_error) for one in failed)
    crosses = "document.querySelector('.block').querySelectorAll('svg .cross').length"
    assert page.asked(crosses) == errors


@needs_chromium
def test_what_a_judge_quoted_is_marked_in_the_answer_and_leads_to_its_fact(
    made: dict[str, MadeRun], page: Browser
) -> None:
    shown(page, made["three"])
    page.click(".heat td a")
    cell = page.asked("location.hash")
    quoted = page.asked(f"document.querySelector('{cell} .quote').textContent")
    page.click(f"{cell} .answer a.ref")
    fact = page.asked("document.querySelector(':target').innerText")
    assert re.search(r"-f\d+$", page.asked("location.hash"))
    assert fact.startswith(("stated", "partial", "contradicted"))
    page.click(":target a")
    passage = page.asked("document.querySelector(':target').parentElement.innerText")
    assert re.search(r"-q\d+$", page.asked("location.hash")) and quoted[:20] in passage


@needs_chromium
def test_the_first_differing_call_is_marked_and_the_same_ones_can_be_hidden(
    made: dict[str, MadeRun], page: Browser
) -> None:
    shown(page, made["three"])
    page.asked("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    is_of_calls = "it => it.rows[0].cells[0].textContent === 'step'"
    tables = f"[...document.querySelectorAll('.beside table')].filter({is_of_calls})"
    # Of each of two servers.
    assert page.asked(f"{tables}.every(it => it.querySelectorAll('td.first').length === 2)")
    same = f"{tables}[0].querySelector('tr.same').checkVisibility()"
    assert page.asked(same)
    page.asked(f"{tables}[0].closest('.beside').querySelector('.only').click()")
    assert not page.asked(same)


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
# `grid` and `demo` hold no part that these do not.
@pytest.mark.parametrize("name", ["three", "exact", "broken", "import", "hostile"])
def test_axe_finds_nothing_serious_in_both_themes(
    pages: dict[str, Path], page: Browser, name: str
) -> None:
    shown(page, pages[name])
    # Of many blocks, scenarios and tables one is like the other, and axe looks at every part.
    alike = (
        ".block ~ .block",
        "#scenarios ~ h3 ~ h3, #scenarios ~ h3 ~ h3 ~ *",
        "#scenarios ~ details:nth-of-type(n+4), #repeat ~ details:nth-of-type(n+3)",
        "details.of-run:not([open]):nth-of-type(n+6), .of-run tr:nth-child(n+4)",
        ".call:nth-of-type(n+9):not(:has(.failure))",
    )
    page.asked(f"document.querySelectorAll('{', '.join(alike)}').forEach(it => it.remove())")
    all_open(page)
    page.asked(axe() + "; 1")
    assert serious(page, "resultTypes: ['violations']") == []
    page.looks(dark=True)
    # A theme changes colours, and nothing else.
    assert serious(page, "resultTypes: ['violations'], runOnly: ['color-contrast']") == []


def serious(page: Browser, options: str) -> list[Any]:
    found = page.asked(
        f"axe.run(document, {{{options}}}).then(it => it.violations.map("
        "one => [one.impact, one.id, one.nodes.length, one.nodes[0].html.slice(0, 200),"
        "one.nodes[0].failureSummary]))"
    )
    return [one for one in found if one[0] in SERIOUS]


@needs_chromium
@pytest.mark.parametrize("name", PAGES)
def test_a_phone_shows_it_without_scrolling_sideways(
    pages: dict[str, Path], page: Browser, name: str
) -> None:
    shown(page, pages[name], width=360, height=740)
    all_open(page)
    assert page.asked("document.documentElement.scrollWidth") <= 360


@needs_chromium
@pytest.mark.parametrize("width", [360, 700, 1000, 1400])
@pytest.mark.parametrize("name", ["three", "exact", "demo"])
def test_no_name_in_a_forest_plot_lies_over_what_is_drawn(
    pages: dict[str, Path], page: Browser, name: str, width: int
) -> None:
    shown(page, pages[name], width=width)
    over = page.asked(
        "(() => { const of = what => [...document.querySelectorAll(what)]"
        ".filter(it => it.checkVisibility())"
        ".map(it => [it.textContent, it.getBoundingClientRect()]);"
        "const words = of('.forest > text, .forest > g > text');"
        "const drawn = of('.forest :is(circle, .range, .reach, .noise)');"
        "window.seen = [words.length, drawn.length];"
        "const meet = (a, b) => a.left < b.right && b.left < a.right"
        "  && a.top < b.bottom && b.top < a.bottom;"
        "return words.filter(([, a]) => drawn.some(([, b]) => meet(a, b))).map(([it]) => it); })()"
    )
    assert over == [] and min(page.asked("window.seen")) >= 6


@needs_chromium
@pytest.mark.parametrize("name", PAGES)
def test_on_paper_the_verdict_ends_on_the_first_sheet_and_its_drawings_by_the_fourth(
    pages: dict[str, Path], page: Browser, name: str
) -> None:
    shown(page, pages[name])
    whole = sheets(page.printed())
    # Of a page that ends there: what it takes up to there.
    page.asked("document.querySelectorAll('#answers, #answers ~ *').forEach(it => it.remove())")
    assert sheets(page.printed()) <= 4 < whole
    page.asked("document.querySelector('main').remove()")
    assert page.asked("document.querySelector('h1').textContent.length") > 20
    assert sheets(page.printed()) == 1


def sheets(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@needs_chromium
def test_pictures_for_the_pages_of_the_docs(
    made: dict[str, MadeRun], pages: dict[str, Path], page: Browser, tmp_path: Path
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
    for name in ("demo", "broken", "import", "exact", "grid"):
        look = {"width": 900, "height": 1100}
        shown(page, pages[name], **look).picture(folder / f"page-{name}.webp", quality=32)
    cell = made["three"].run.cells[1].cell.id[:16]
    shown(page, made["three"], f"#cell-{cell}-cite-2", width=1000, height=900)
    page.asked(f"document.querySelector('#cell-{cell}').scrollIntoView()")
    page.picture(folder / "report-answer.webp")
    shown(page, made["three"], width=1000, height=420)
    page.asked("location.hash = document.querySelector('.answer a.cite').hash")
    page.picture(folder / "report-lines.webp", quality=50)
    sizes = {it.name: it.stat().st_size for it in folder.glob("*.webp")}
    assert len(sizes) == 10 and sum(sizes.values()) < 400_000, json.dumps(sizes)
