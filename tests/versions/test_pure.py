"""What is held against what, without an engine: schemas, answers, figures, verdicts and forms."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import mcp_types
import pytest

from runner.authoring.onboarding.server_source import LocalPath, PypiPackage
from runner.authoring.versions.concluding import answer_changes, concluded, in_order, with_allowed
from runner.authoring.versions.defining import known_arm, needed_beside
from runner.authoring.versions.examining import MOST_CALLS, each_once, example_calls
from runner.authoring.versions.schema_changes import schema_changes
from runner.authoring.versions.session_changes import (
    ReplayedAnswer,
    ReplayedSession,
    answer_change,
    shifted_by,
)
from runner.authoring.versions.side_changes import (
    figure_changes,
    figures_of,
    noise_changes,
    package_changes,
    start_changes,
)
from runner.authoring.versions.tool_changes import tool_changes
from runner.catalog.project import SETTINGS, project_settings, write_project_lock
from runner.records import McpCall
from runner.records.versions import (
    AllowedChange,
    PairedAnswers,
    VersionAnswer,
    VersionChange,
    VersionComparison,
    VersionReading,
    VersionSide,
)
from runner.report.report_files import render_json
from runner.report.version_forms import (
    MOST_LINES,
    VERSION_FORMS,
    junit_of_versions,
    markdown_of,
    sarif_of,
)
from runner.report.version_pairs import within_margin
from runner.scoring.statistics import ClusterMean
from runner.servers.example_arguments import Target
from runner.support.errors import AnchorsDrifted, CatalogError

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
ROOT = Path(__file__).resolve().parents[2]


def tool_schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required]}


BASE = tool_schema(("a",), a=STRING, n={"type": "integer", "default": 5, "maximum": 9})
KINDS = {"enum": ["x", "y"], "type": "string"}
BREAKING = {
    "a parameter removed": (BASE, tool_schema(("a",), a=STRING)),
    "one newly required": (BASE, {**BASE, "required": ["a", "n"]}),
    "a new one that is required": (tool_schema(a=STRING), tool_schema(("b",), a=STRING, b=STRING)),
    "a type narrowed": (tool_schema(a={"type": ["string", "null"]}), tool_schema(a=STRING)),
    "number to integer": (tool_schema(a={"type": "number"}), tool_schema(a=INTEGER)),
    "any to string": (tool_schema(a={}), tool_schema(a=STRING)),
    "an enum where there was none": (tool_schema(a=STRING), tool_schema(a=KINDS)),
    "a value of an enum gone": (tool_schema(a=KINDS), tool_schema(a={**KINDS, "enum": ["x"]})),
    "a lower maximum": (BASE, tool_schema(("a",), a=STRING, n={**INTEGER, "maximum": 3})),
    "items retyped": (
        tool_schema(a={"type": "array", "items": STRING}),
        tool_schema(a={"type": "array", "items": INTEGER}),
    ),
    "behind a reference": (
        {"$defs": {"K": KINDS}, **tool_schema(a={"$ref": "#/$defs/K"})},
        {"$defs": {"K": {**KINDS, "enum": ["y"]}}, **tool_schema(a={"$ref": "#/$defs/K"})},
    ),
    "an alternative gone": (
        tool_schema(a={"anyOf": [STRING, {"type": "null"}]}),
        tool_schema(a=STRING),
    ),
}
HARMLESS = {
    "an optional one added": (tool_schema(a=STRING), tool_schema(a=STRING, b=STRING)),
    "one no longer required": (BASE, {**BASE, "required": []}),
    "a type widened": (tool_schema(a=STRING), tool_schema(a={"type": ["string", "null"]})),
    "integer to number": (tool_schema(a=INTEGER), tool_schema(a={"type": "number"})),
    "string to an alternative": (
        tool_schema(a=STRING),
        tool_schema(a={"anyOf": [STRING, {"type": "null"}]}),
    ),
    "a value of an enum more": (tool_schema(a={**KINDS, "enum": ["x"]}), tool_schema(a=KINDS)),
    "an enum lifted": (tool_schema(a=KINDS), tool_schema(a=STRING)),
    "a bound lifted": (tool_schema(a={**INTEGER, "maximum": 3}), tool_schema(a=INTEGER)),
}


@pytest.mark.parametrize(("base", "head"), BREAKING.values(), ids=BREAKING)
def test_what_breaks_a_call_that_was_right_is_breaking(
    base: dict[str, Any], head: dict[str, Any]
) -> None:
    assert "breaking" in {it.kind for it in schema_changes(base, head)}


@pytest.mark.parametrize(("base", "head"), HARMLESS.values(), ids=HARMLESS)
def test_what_takes_more_than_before_is_harmless(
    base: dict[str, Any], head: dict[str, Any]
) -> None:
    assert {it.kind for it in schema_changes(base, head)} == {"harmless"}
    # The other way round each of them breaks a call.
    assert "breaking" in {it.kind for it in schema_changes(head, base)}


def test_a_schema_that_refers_to_itself_is_compared_to_an_end() -> None:
    loop: dict[str, Any] = {"$defs": {"T": {"type": "object", "properties": {}}}}
    loop["$defs"]["T"]["properties"]["inner"] = {"$ref": "#/$defs/T"}
    one = {**loop, **tool_schema(a={"$ref": "#/$defs/T"})}
    other = json.loads(json.dumps(one))
    other["$defs"]["T"]["description"] = "other"
    assert {it.kind for it in schema_changes(one, other)} == {"words"}


def tool(name: str, about: str = "Finds text in files.", **properties: Any) -> mcp_types.Tool:
    schema = tool_schema(**properties or {"query": STRING})
    return mcp_types.Tool.model_validate(
        {"name": name, "description": about, "inputSchema": schema}, by_name=False
    )


def test_a_renamed_tool_is_one_change_and_a_replaced_one_is_two() -> None:
    found = tool_changes([tool("find"), tool("read")], [tool("read"), tool("look_up")])
    assert [it.name for it in found] == ["tools:renamed:find"]
    other = tool("count", "Counts lines of code, language by language.", n=INTEGER, all=INTEGER)
    named = {it.name: it.weight for it in tool_changes([tool("find")], [other])}
    assert named == {"tools:gone:find": "regression", "tools:new:count": "note"}


def test_a_description_alone_is_a_note_and_a_default_is_not() -> None:
    (note,) = tool_changes([tool("find")], [tool("find", "Finds texts in any file.")])
    assert (note.name, note.weight) == ("schema:description:find", "note")
    before, after = tool("f", n={**INTEGER, "default": 5}), tool("f", n={**INTEGER, "default": 7})
    (default,) = tool_changes([before], [after])
    assert (default.name, default.weight) == ("schema:default:f.n", "regression")
    assert default.says.endswith("5 → 7")


# --- answers ------------------------------------------------------------------------------------


def said(text: str, *, died: str = "") -> ReplayedAnswer:
    return ReplayedAnswer(text=text, is_error=False, died=died)


FOUND = "a.py:3: x = 1\nb.py:17: y = x\nb.py:20: z = x"


@pytest.mark.parametrize(
    ("base", "head", "kind"),
    [
        (FOUND, FOUND, "same"),
        (FOUND, "b.py:20: z = x\na.py:3: x = 1\nb.py:17: y = x", "same"),
        ("found 2 in 0.31 s\na.py:3", "found 2 in 12.7 s\na.py:3", "same"),
        (FOUND, "a.py:4: x = 1\nb.py:18: y = x\nb.py:21: z = x", "shifted"),
        (FOUND, "a.py:3: x = 1", "less"),
        (FOUND, "a.py:3: x = 1\nc.py:9: w = x", "differs"),
        (FOUND, FOUND + "\nc.py:9: w = x", "more"),
        (FOUND, "", "empty"),
        (FOUND, "No matches found", "empty"),
        ("[]", FOUND, "mended"),
        ('{"hits": [{"n": 1}, {"n": 2}]}', '{"hits": [{"n": 2}]}', "less"),
        (FOUND, '{"success": false, "error": "x"}', "error"),
    ],
)
def test_an_answer_is_held_against_the_base_s(base: str, head: str, kind: str) -> None:
    assert answer_change(said(base), said(head)).kind == kind


def test_numbers_that_all_differ_otherwise_are_no_shift() -> None:
    assert shifted_by("1 2 3", "2 3 4") == 1
    assert shifted_by("1 2 3", "2 4 4") == 0
    assert shifted_by("1 file", "2 file") == 0
    assert shifted_by("a 10 20", "a 110 120") == 0


def session(base: list[str], again: list[str], head: list[str]) -> ReplayedSession:
    calls = [McpCall(tool="find", arguments={"query": str(at)}) for at in range(len(base))]
    sides = {"base": [*map(said, base)], "again": [*map(said, again)], "head": [*map(said, head)]}
    return ReplayedSession(calls=calls, **sides)


def test_what_the_base_itself_answers_otherwise_is_held_against_nobody() -> None:
    replayed = session(["seed a1\nx", FOUND], ["seed b2\nx", FOUND], ["seed c3", ""])
    assert replayed.unstable == [0]
    assert [it.name for it in replayed.changes()] == ["session:empty:find"]
    assert list(session([FOUND], [FOUND], [FOUND]).changes()) == []


def test_calls_that_were_never_made_are_said() -> None:
    found = list(session([FOUND, FOUND], [FOUND, FOUND], [FOUND]).changes())
    assert [it.name for it in found] == ["session:slow"]
    ended = replace(session([FOUND] * 3, [FOUND] * 3, []), head=[said("", died="exit 1")])
    assert [it.name for it in ended.changes()] == ["session:died:find", "session:ends"]


def test_a_tool_that_lists_folders_is_asked_for_one_and_not_for_a_file_alone() -> None:
    words = "List all files and directories in a path. Only works within allowed directories."
    schema = tool_schema(("path",), path=STRING)
    tool = mcp_types.Tool(name="list_directory", description=words, input_schema=schema)
    (calls,) = example_calls([tool], Target(name="Flask", path="src/flask/app.py"))
    asked = [call.arguments["path"] for call in calls]
    assert asked[0] == "src/flask/app.py"
    assert "/workspace" in asked


def test_a_tool_that_a_program_called_is_called_otherwise_too_and_many_tools_have_an_end() -> None:
    """`git_show HEAD:FILE` was called, and what `git_show HEAD` shows had changed."""

    def shows(revision: str) -> McpCall:
        return McpCall(tool="git_show", arguments={"revision": revision})

    recorded = [shows("HEAD:app.py")] * 200
    assert each_once(recorded, [[shows("HEAD"), shows("HEAD:app.py")]]) == [
        shows("HEAD:app.py"),
        shows("HEAD"),
    ]
    many = [
        [McpCall(tool=f"t{at}"), McpCall(tool=f"t{at}", arguments={"n": 1})] for at in range(80)
    ]
    asked = [shows(f"HEAD~{at}") for at in range(200)]
    found = each_once(asked, many)
    assert len(found) == MOST_CALLS
    assert len({it.tool for it in found} - {"git_show"}) == MOST_CALLS - MOST_CALLS // 3


# --- figures ------------------------------------------------------------------------------------


def side(*ready: float, tokens: int = 1000, memory: float = 50.0) -> VersionSide:
    readings = tuple(
        VersionReading(
            initialize_sec=0.1,
            ready_sec=it,
            index_sec=0.0,
            memory_mb=memory,
            disk_mb=0.0,
            network_attempts=0,
            stray_lines=0,
            probe_passed=True,
        )
        for it in ready
    )
    return VersionSide(
        asked="npm:x@1", server="x-1", version="1", schema_tokens=tokens, readings=readings
    )


def with_readings(of: VersionSide, changes: Sequence[dict[str, Any]]) -> VersionSide:
    """`changes`: of each reading."""
    pairs = zip(of.readings, changes, strict=True)
    readings = tuple(reading.model_copy(update=change) for reading, change in pairs)
    return of.model_copy(update={"readings": readings})


def changed(base: VersionSide, head: VersionSide, most: int | None = None) -> dict[str, str]:
    figures = list(figures_of(base, head, {}))
    return {it.name: it.weight for it in figure_changes(figures, most)}


def test_one_slow_reading_is_noise_and_three_are_a_slow_start() -> None:
    assert changed(side(1.0, 1.1, 1.0), side(9.0, 1.0, 9.0)) == {}
    assert changed(side(1.0, 1.1, 5.0), side(6.0, 6.1, 6.0)) == {}
    assert changed(side(1.0, 1.1, 1.0), side(6.0, 6.1, 6.0)) == {"ready:more": "regression"}
    assert changed(side(6.0, 6.1, 6.0), side(1.0, 1.1, 1.0)) == {"ready:less": "better"}


def test_schemas_have_a_margin_and_a_bound() -> None:
    assert changed(side(1.0), side(1.0, tokens=1200)) == {}
    assert changed(side(1.0), side(1.0, tokens=2000)) == {"tokens:more": "regression"}
    assert changed(side(1.0), side(1.0, tokens=1200), 1100) == {"tokens:bound": "regression"}
    assert changed(side(1.0, tokens=80), side(1.0, tokens=170)) == {}  # twice as many of nothing


# --- the verdict --------------------------------------------------------------------------------


def test_two_one_sided_tests_tell_equal_from_worse_and_from_too_few() -> None:
    assert within_margin(ClusterMean(figures=(0.0,) * 8), 0.03).says == "equivalent"
    assert within_margin(ClusterMean(figures=(-0.2,) * 8), 0.03).says == "worse"
    assert within_margin(ClusterMean(figures=(0.2,) * 8), 0.03).says == "no_worse"
    few = within_margin(ClusterMean(figures=(0.0,) * 3), 0.03)
    assert (few.says, few.more) == ("too_few", 2)
    wide = within_margin(ClusterMean(figures=(0.4, -0.4, 0.3, -0.3, 0.0, 0.1)), 0.03)
    assert wide.says == "too_few"
    assert wide.more is not None
    assert wide.more > 100


def change(name: str = "tools:gone:find", weight: str = "regression") -> VersionChange:
    return VersionChange.model_validate(
        {"check": name.partition(":")[0], "name": name, "weight": weight, "says": f"it is {name}"}
    )


def too_few(*, language_model: bool) -> PairedAnswers:
    made = within_margin(ClusterMean(figures=(0.0,) * 3), 0.03)
    return made.model_copy(update={"language_model": language_model, "model": "m"})


def test_the_verdict_follows_from_what_stops_then_from_who_cannot_tell() -> None:
    one = side(1.0)
    assert concluded(one, one, [change()], []).verdict == "regression"
    assert concluded(one, one, [change(weight="note")], []).verdict == "no_regression"
    few = concluded(one, one, [], [too_few(language_model=True)])
    assert few.verdict == "too_few"
    assert "about 2 more would" in few.sentence
    # What a program answers is no sample: it never leaves a gate open.
    by_program = concluded(one, one, [], [too_few(language_model=False)])
    assert by_program.verdict == "no_regression"


def test_what_is_allowed_is_shown_and_stops_nothing() -> None:
    meant = AllowedChange(name="tools:gone:*", reason="replaced by look_up")
    (allowed,) = with_allowed([change()], [meant])
    assert (allowed.allowed, allowed.stops) == ("replaced by look_up", False)
    (other,) = with_allowed([change("tools:renamed:find")], [meant])
    assert other.stops
    assert in_order([change()], ["schema"]) == []


def test_a_program_that_finds_less_past_the_margin_is_a_regression_and_names_the_question() -> None:
    rows = [
        VersionAnswer(scenario=f"q{at}", trial=1, model="offline", base=1.0, head=head)
        for at, head in enumerate((1.0, 0.2, 1.0, 1.0))
    ]
    one = within_margin(ClusterMean(figures=tuple(it.head - it.base for it in rows)), 0.03)
    one = one.model_copy(update={"model": "offline", "by_keys": True})
    (found,) = answer_changes(rows, [one])
    assert found.weight == "regression"
    assert "q1 1.00 → 0.20" in found.says
    small = one.model_copy(update={"mean": -0.02})
    (note,) = answer_changes(rows, [small])
    assert (note.name, note.weight) == ("exact:q1", "note")
    # Without keys the figure is fairness, which a busy machine lowers: it stops nobody.
    (note,) = answer_changes(rows, [one.model_copy(update={"by_keys": False})])
    assert note.weight == "note"


# --- forms --------------------------------------------------------------------------------------


def comparison(*changes: VersionChange) -> VersionComparison:
    one = side(1.0, 1.2)
    ended = concluded(one, one, changes, [])
    return VersionComparison(
        fairtrial="0",
        created_at="2026-11-25T00:00:00+00:00",
        machine="m",
        repository="pypi:flask==3.1.2",
        verdict=ended.verdict,
        sentence=ended.sentence,
        base=one,
        head=one,
        checks=("tools", "session"),
        changes=changes,
        figures=tuple(figures_of(one, one, {})),
        wall_sec=1.0,
    )


def test_a_comment_has_at_most_sixty_lines_and_its_sentence_first() -> None:
    many = [change(f"tools:gone:t{at}") for at in range(90)]
    many += [change(f"session:differs:t{at}", "note") for at in range(90)]
    lines = markdown_of(comparison(*many)).splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[1].startswith("**90 regressions in npm:x@1")
    assert "and 75 more" in "\n".join(lines)


def test_a_server_s_text_is_no_markup_in_any_form() -> None:
    evil = "![x](y) <script>alert(1)</script> | `a` \x1b[31m"
    found = comparison(change().model_copy(update={"says": evil}))
    assert "<script>" not in markdown_of(found).replace("\\<", "")
    assert "![x](" not in markdown_of(found)
    page = VERSION_FORMS["compare.html"](found)
    assert isinstance(page, str)
    assert "<script>alert" not in page
    ElementTree.fromstring(junit_of_versions(found))


def test_each_check_is_a_case_and_what_stops_is_its_failure() -> None:
    root = ElementTree.fromstring(junit_of_versions(comparison(change())))
    failures = {it.get("name"): it.find("failure") is not None for it in root.iter("testcase")}
    assert failures == {"tools": True, "session": False}


def test_sarif_holds_what_has_a_place_and_nothing_else() -> None:
    placed = change().model_copy(update={"path": "src/server.py", "line": 7})
    told = json.loads(sarif_of(comparison(placed, change("tools:gone:other"))))
    (result,) = told["runs"][0]["results"]
    where = result["locations"][0]["physicalLocation"]
    assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == ("src/server.py", 7)
    assert (result["level"], result["ruleId"]) == ("error", "tools")


def test_what_is_written_holds_to_the_published_schema() -> None:
    schema = json.loads((ROOT / "docs/schemas/compare.schema.json").read_text("utf-8"))
    jsonschema.validate(json.loads(render_json(comparison(change()))), schema)


# --- fairtrial.yaml -----------------------------------------------------------------------------


def test_margins_are_the_project_s_and_under_its_lock(tmp_path: Path) -> None:
    assert project_settings(tmp_path).compare.margins == {}
    (tmp_path / SETTINGS).write_text("compare:\n  margins: {ready: 0.2}\n  only: [tools]\n")
    write_project_lock(tmp_path)
    read = project_settings(tmp_path).compare
    assert (read.margins, read.only) == ({"ready": 0.2}, ("tools",))
    (tmp_path / SETTINGS).write_text("compare:\n  margins: {ready: 9.0}\n")
    with pytest.raises(AnchorsDrifted, match="changed"):
        project_settings(tmp_path)
    (tmp_path / SETTINGS).write_text("compare: {margin: 1}\n")
    write_project_lock(tmp_path)
    with pytest.raises(CatalogError):
        project_settings(tmp_path)


def test_a_folder_is_named_by_what_it_holds_and_not_by_where_it_lies(tmp_path: Path) -> None:
    """By that name its definition is kept: two of one name would be one server."""

    def arm(place: str, text: str, programs: tuple[str, ...] = ()) -> str:
        top = tmp_path / place / "ledger"
        top.mkdir(parents=True, exist_ok=True)
        (top / "package.json").write_text('{"name": "ledger", "bin": "a.js"}')
        (top / "a.js").write_text(text)
        return known_arm(LocalPath(path=top, programs=programs))

    first = arm("one", "1")
    assert first.startswith("ledger-")
    assert first == arm("two", "1")
    assert first not in (arm("three", "2"), arm("one", "1", ("npm:wheel",)))
    assert known_arm(PypiPackage(name="acme-mcp", version="1.2.0")) == "acme-mcp-1.2.0"
    assert known_arm(PypiPackage(name="acme-mcp", version="")) == ""


def test_what_the_head_alone_was_mended_with_is_the_reason_and_what_both_lacked_is_none() -> None:
    package, lacks = "wheel, which it needs and does not name", "No module named 'wheel'"
    said = needed_beside((), (package,), lacks)
    assert said == f"it needs what the base does not: {package} (without it: {lacks})"
    assert needed_beside((package,), (package,), "the base's health probe got: 3") == (
        "the base's health probe got: 3"
    )
    assert needed_beside((package,), (package,), "") == ""
    dated = "packages as of its release, {}: with them it started"
    assert needed_beside((dated.format("2026-01-02"),), (dated.format("2026-03-04"),), "") == ""
    one = side(1.0)
    (found,) = start_changes(one, one, said)
    assert (found.name, found.weight) == ("start:otherwise", "regression")
    assert package in found.says


def test_one_probe_of_three_that_fails_is_a_note_and_two_are_a_regression() -> None:
    base = side(1.0, 1.0, 1.0)

    def found(*passed: bool) -> list[tuple[str, str]]:
        head = with_readings(base, [{"probe_passed": it} for it in passed])
        return [(it.name, it.weight) for it in start_changes(base, head, "")]

    assert found(True, True, True) == []
    assert found(True, False, True) == [("probe:fails", "note")]
    assert found(False, False, True) == [("probe:fails", "regression")]


def test_a_first_network_attempt_or_stray_line_is_a_regression_and_one_more_is_a_note() -> None:
    def noisy(*network: int, stray: int = 0) -> VersionSide:
        changes = [{"network_attempts": it, "stray_lines": stray} for it in network]
        return with_readings(side(*[1.0] * len(network)), changes)

    def told(base: VersionSide, head: VersionSide) -> dict[str, str]:
        return {it.name: it.weight for it in noise_changes(base, head)}

    assert told(noisy(0, 0), noisy(2, 2)) == {"network:more": "regression"}
    assert told(noisy(0, 0), noisy(0, 2)) == {}
    assert told(noisy(2, 2), noisy(4, 4)) == {"network:more": "note"}
    assert told(noisy(0, 0), noisy(0, 0, stray=3)) == {"stdout:more": "regression"}


def test_packages_that_came_went_and_moved_are_said_and_stop_nothing() -> None:
    base = side(1.0).model_copy(update={"packages": {"npm:a": "1.0", "npm:b": "2.0"}})
    head = side(1.0).model_copy(update={"packages": {"npm:a": "1.1", "npm:c": "3.0"}})
    found = {it.name: it for it in package_changes(base, head)}
    assert {it.weight for it in found.values()} == {"note"}
    assert found["dependencies:changed"].says == "1 packages changed: npm:a 1.0 → 1.1"
    assert found["dependencies:added"].says.endswith("npm:c 3.0")
    assert found["dependencies:removed"].says.endswith("npm:b 2.0")
