"""Scenarios and servers as they are shipped, and as people misspell them."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from runner.catalog.catalog import HELD_OUT, MAX_FILE_BYTES, Catalog, load_catalog, pick
from runner.records import Scenario, Source, parse_yaml
from runner.support.errors import CatalogError, FairtrialError

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = """\
id: {id}
title: A
description: B
language: python
slant: None.
repository: {{kind: git, url: /repo, commit: "1111111111111111111111111111111111111111"}}
budget: {{tokens: 1000, wall_sec: 60, actions: 10}}
steps:
  - {{name: one, prompt: "?", must_cite: [{{path: a.py, line: 1}}]}}
  - {{name: two, prompt: "?"}}
"""
RUBRIC = """\
audience: An agent.
steps:
  - name: one
    criteria: {map_quality: {weight: 1.0, question: "?", facts: [{says: x, terms: [[x]]}]}}
  - name: two
    criteria: {map_quality: {weight: 1.0, question: "?", facts: [{says: x, terms: [[x]]}]}}
"""
CONTRAST_PAIRS = """\
pairs:
  - {step: one, kind: order, right: answer 1, wrong: 1 answer, why: "a.py:1 answers first"}
"""
SERVER = """\
name: {name}
title: A
version: 1.0.0
licence: MIT
homepage: none
command: ["{{install}}/bin/x"]
canaries: [{{repository: "*", call: {{tool: x}}, contains: x}}]
line_base: 1
"""


def scenario(root: Path, name: str, suite: str = "core") -> Path:
    folder = root / "scenarios" / suite / name
    (folder / "reference").mkdir(parents=True)
    (folder / "scenario.yaml").write_text(SCENARIO.format(id=name))
    (folder / "rubric.yaml").write_text(RUBRIC)
    for number in (1, 2):
        (folder / f"reference/{number}.md").write_text(f"answer {number}")
    return folder


def server(root: Path, name: str) -> Path:
    folder = root / "images/servers" / name
    folder.mkdir(parents=True)
    (folder / "server.yaml").write_text(SERVER.format(name=folder.name))
    (folder / "requirements.txt").write_text("x==1.0.0 --hash=sha256:00\n")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    scenario(tmp_path, "good")
    server(tmp_path, "helper")
    return tmp_path


def said(catalog: Catalog) -> str:
    with pytest.raises(CatalogError) as caught:
        catalog.check()
    return str(caught.value)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


# --- what is shipped ------------------------------------------------------------------------


def test_everything_shipped_holds_together() -> None:
    catalog = load_catalog(ROOT)
    catalog.check()
    # `shell` is built in: a folder of that name would be a second baseline.
    assert {loaded.suite for loaded in catalog.scenarios.values()} >= {"core"}
    assert "shell" not in catalog.servers


def test_a_folder_is_all_it_takes(root: Path) -> None:
    scenario(root, "another")
    server(root, "second")
    catalog = load_catalog(root)
    catalog.check()
    assert list(catalog.scenarios) == ["another", "good"]
    assert catalog.scenarios["another"].reference == ("answer 1", "answer 2")
    assert list(catalog.servers) == ["helper", "second"]


def test_a_server_of_the_testbed_is_no_server_that_scenarios_are_measured_with(root: Path) -> None:
    server(root, "testbed/units")
    catalog = load_catalog(root)
    assert list(catalog.servers) == ["helper"]
    assert catalog.testbed["units"].spec.name == "units"


def test_a_name_in_the_testbed_and_outside_it_is_a_problem(root: Path) -> None:
    server(root, "testbed/helper")
    assert "images/servers/testbed/helper: a server outside" in said(load_catalog(root))


def test_contrast_pairs_are_read_where_there_are_some(root: Path) -> None:
    (scenario(root, "another") / "turned.yaml").write_text(CONTRAST_PAIRS)
    catalog = load_catalog(root)
    assert [pair.wrong for pair in catalog.scenarios["another"].contrast_pairs] == ["1 answer"]
    assert catalog.scenarios["good"].contrast_pairs == ()


# --- every problem at once ------------------------------------------------------------------


def test_every_problem_of_every_file_is_said_at_once(root: Path) -> None:
    other = scenario(root, "other")
    replace(root / "scenarios/core/good/scenario.yaml", "slant", "slnat")
    replace(root / "scenarios/core/good/rubric.yaml", "weight: 1.0", "weight: 0.5")
    (other / "reference/2.md").unlink()
    (other / "referense").mkdir()
    replace(root / "images/servers/helper/server.yaml", "licence", "license")
    assert said(load_catalog(root)) == (
        "7 problems\n"
        "  scenarios/core/good/scenario.yaml slant: Field required\n"
        "  scenarios/core/good/scenario.yaml slnat: no such key; did you mean `slant`?\n"
        "  scenarios/core/good/rubric.yaml steps[0]: Value error, "
        "criterion weights of step 'one' sum to 0.5, not 1\n"
        "  scenarios/core/other/referense: nothing reads this file; did you mean reference?\n"
        "  scenarios/core/other/reference/2.md: cannot be read: No such file or directory\n"
        "  images/servers/helper/server.yaml licence: Field required\n"
        "  images/servers/helper/server.yaml license: no such key; did you mean `licence`?\n"
        "hint: run `fairtrial check` after mending them"
    )


def test_one_broken_scenario_leaves_the_others_usable(root: Path) -> None:
    (scenario(root, "broken") / "rubric.yaml").unlink()
    catalog = load_catalog(root)
    assert pick(catalog.scenarios, "good").scenario.id == "good"
    with pytest.raises(CatalogError, match=r"broken/rubric\.yaml"):
        pick(catalog.scenarios, "broken")
    with pytest.raises(CatalogError, match=r"broken/rubric\.yaml"):
        list(catalog.scenarios.values())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("id: good", "id: best", "id: is 'best', but the folder is 'good'"),
        ("name: two", "name: one", "steps[1].name: an earlier step is called 'one' too"),
        ("must_cite: [{path: a.py, line: 1}]", "checks: []", "no step has"),
        ("1" * 40, "1" * 12, "repository.git.commit: String should match pattern"),
        ("1" * 40, "main", "repository.git.commit: String should match pattern"),
        ("/repo", "-u/repo", "repository.git.url: Value error, a URL is not empty"),
        ("/repo", "https://me:pw@host/repo", "credential helper"),
        ("title: A", "title: A\ntokens: 5", "no such key here; it belongs to Budget"),
        ("tokens: 1000", "tokens: .inf", "Out of range float"),
        ("path: a.py", "path: ../a.py", "paths are relative"),
        (": 1000", ': "1000"', "budget.tokens: Input should be a valid integer"),
    ],
)
def test_a_broken_scenario_is_told_what_and_where(
    root: Path, old: str, new: str, told: str
) -> None:
    replace(root / "scenarios/core/good/scenario.yaml", old, new)
    assert told in said(load_catalog(root))


OF_NO_STEP = CONTRAST_PAIRS.replace("step: one", "step: four")
OF_NO_KIND = CONTRAST_PAIRS.replace("kind: order", "kind: mood")


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        (
            "rubric.yaml",
            RUBRIC.replace("name: two", "name: three"),
            " steps: the steps are ['one', 'three'], the scenario's are ['one', 'two']",
        ),
        ("reference/1.md", " \n", ": is empty"),
        ("reference/3.md", "x", ": nothing reads this file"),
        (
            "turned.yaml",
            OF_NO_STEP,
            " pairs[0].step: is 'four'; the scenario's steps are ['one', 'two']",
        ),
        ("turned.yaml", OF_NO_KIND, " pairs[0].kind: Input should be 'roles', 'order'"),
        ("turned.yaml", "pairs: []", " pairs:"),
        ("rubric.yml", "x", ": nothing reads this file; did you mean rubric.yaml?"),
        ("gold_scores.json", "{}", ": nothing reads this file"),
    ],
)
def test_a_file_that_does_not_fit_its_scenario_is_told(
    root: Path, file: str, text: str, told: str
) -> None:
    (root / "scenarios/core/good" / file).write_text(text)
    assert f"{file}{told}" in said(load_catalog(root))


def test_a_scenario_without_a_reference_is_told(root: Path) -> None:
    shutil.rmtree(root / "scenarios/core/good/reference")
    assert "reference/1.md: cannot be read" in said(load_catalog(root))


def test_held_out_scenarios_alone_carry_transcripts_and_gold(root: Path) -> None:
    folder = scenario(root, "anchor", HELD_OUT)
    (folder / "transcripts").mkdir()
    (folder / "gold_scores.json").write_text("{}")
    catalog = load_catalog(root)
    catalog.check()
    assert catalog.scenarios.problems() == []
    assert catalog.scenarios["anchor"].suite == HELD_OUT
    (root / "scenarios" / HELD_OUT).rename(root / "scenarios/extra")
    told = said(load_catalog(root))
    assert "scenarios/extra/anchor/transcripts: nothing reads this file" in told
    assert "scenarios/extra/anchor/gold_scores.json: nothing reads this file" in told


def test_an_id_belongs_to_one_suite(root: Path) -> None:
    scenario(root, "good", "extra")
    assert "scenarios/extra/good: scenarios/core/good has the same id" in said(load_catalog(root))


CANARIES = 'canaries: [{repository: "*", call: {tool: x}, contains: x}]'


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("name: helper", "name: other", "name: is 'other', but the folder is 'helper'"),
        ("{install}", "{instal}", "no placeholder {instal}"),
        (CANARIES, "canaries: []", "canaries: Tuple should have at least 1 item"),
    ],
)
def test_a_broken_server_is_told_what_and_where(root: Path, old: str, new: str, told: str) -> None:
    replace(root / "images/servers/helper/server.yaml", old, new)
    assert told in said(load_catalog(root))


def test_a_server_that_pins_nothing_or_half_is_told_what_it_lacks(root: Path) -> None:
    folder = root / "images/servers/helper"
    (folder / "package.json").write_text("{}")
    assert "package.json and package-lock.json go together" in said(load_catalog(root))
    (folder / "package.json").unlink()
    (folder / "requirements.txt").unlink()
    assert "nothing is installed: it needs requirements.txt" in said(load_catalog(root))


def test_no_server_is_called_shell(root: Path) -> None:
    server(root, "shell")
    assert "`shell` and `none` are built in" in said(load_catalog(root))


def test_a_servers_digest_moves_with_what_a_cell_sees_and_with_nothing_else(root: Path) -> None:
    folder = root / "images/servers/helper"

    def digest() -> str:
        return load_catalog(root).servers["helper"].digest

    first = digest()
    replace(folder / "server.yaml", "title: A", "title: Another")
    assert digest() == first
    replace(folder / "server.yaml", "bin/x", "bin/y")
    second = digest()
    assert second != first
    (folder / "requirements.txt").write_text("x==1.0.1 --hash=sha256:00\n")
    assert digest() not in (first, second)


# --- names ----------------------------------------------------------------------------------


def test_a_misspelt_name_gets_the_closest_ones(root: Path) -> None:
    with pytest.raises(FairtrialError) as caught:
        pick(load_catalog(root).scenarios, "goood")
    assert str(caught.value) == "no scenario is called 'goood'\nhint: did you mean good?"
    with pytest.raises(FairtrialError, match="no server is called 'zzz'") as unknown:
        pick(load_catalog(root).servers, "zzz", "server")
    hint = "there are: helper (`fairtrial try … --save` keeps one that was tried)"
    assert unknown.value.hint == hint


def test_of_hundreds_of_names_a_few_are_told() -> None:
    names = {f"flask.callers-of-number-{number}": number for number in range(300)}
    with pytest.raises(FairtrialError, match="and 294 more") as caught:
        pick(names, "nosuch")
    assert len(str(caught.value)) < 300


def test_a_folder_that_is_no_checkout_says_so(tmp_path: Path) -> None:
    with pytest.raises(FairtrialError, match="--root"):
        load_catalog(tmp_path)


# --- imports --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module", ["catalog.catalog", "runs.plan", "records", "protocols", "catalog.checkout"]
)
def test_importing_it_loads_no_engine_and_no_arithmetic(module: str) -> None:
    # Each of these takes up to three seconds to import, and `fairtrial --help` would wait for it.
    code = f"import runner.{module}, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    slow = {"docker", "git", "mcp", "mcp_types", "numpy", "requests", "scipy"}
    loaded = set(done.stdout.split())
    assert f"runner.{module}" in loaded and not loaded & slow


@pytest.mark.parametrize(("url", "loaded"), [("unix:///nowhere", False), ("ssh://nowhere", True)])
def test_what_speaks_ssh_is_loaded_for_an_engine_behind_ssh_alone(url: str, loaded: bool) -> None:
    code = (
        "import contextlib, sys; from runner.sandbox.engine import connect\n"
        "from runner.support.errors import EngineError\n"
        f"with contextlib.suppress(EngineError): connect({url!r})\n"
        "print('paramiko' in sys.modules)"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == f"{loaded}\n", done.stderr


# --- YAML -----------------------------------------------------------------------------------

# A billion texts in nine lines: each is nine times the one before it.
LAUGHS = "a: &a [x]\n"
for old, new in itertools.pairwise("abcdefghi"):
    LAUGHS += f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id: a\nid: b\n", "line 2: key 'id' is given twice"),
        ("id: &x a\ntitle: *x\n", "line 2: aliases"),
        (LAUGHS, "aliases"),
        ("<<: {id: a}\n", "merge"),
        ("id: .nan\n", "Out of range float"),
        ("id: 1.0e+999\n", "Out of range float"),
        ("id: 2020-01-01\n", "date is not JSON"),
        ("steps:\n\t- a\n", "cannot start any token"),
        ("[" * 100_000, "nested deeper than 50"),
        ("{a: " * 5_000, "nested deeper than 50"),
        ("- " * 5_000, "nested deeper than 50"),
        ("? [a]\n: b\n", "unhashable"),
        ("a: !!python/object/apply:os.system [id]\n", "could not determine a constructor"),
        ("--- {}\n--- {}\n", "single document"),
        ("just text", "should be an object"),
        ("", "should be an object"),
        ("id: [", "line 2"),
        ("id: \x00", "special characters|control characters"),
    ],
)
def test_yaml_with_two_readings_or_none_is_refused(text: str, why: str) -> None:
    with pytest.raises(CatalogError, match=why):
        parse_yaml(text, Scenario, where="w")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xef\xbb\xbfid: a\n", "byte-order mark"),
        ("id: é\n".encode("latin-1"), "not UTF-8: byte 4 is 0xe9"),
        ("id: a\n".encode("utf-16"), "not UTF-8: byte 0 is 0xff"),
        (b"#" * (MAX_FILE_BYTES + 1), "larger than 512 KB"),
    ],
)
def test_a_file_that_is_no_plain_text_is_refused(root: Path, data: bytes, why: str) -> None:
    (root / "scenarios/core/good/scenario.yaml").write_bytes(data)
    assert why in said(load_catalog(root))


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "pypi", "name": "--index-url", "version": "1", "sha256": "0" * 64},
        {"kind": "pypi", "name": "x", "version": "1 --pre", "sha256": "0" * 64},
        {"kind": "npm", "name": "x", "version": "^1.0.0", "integrity": f"sha512-{'A' * 86}=="},
        {"kind": "npm", "name": "x", "version": "latest", "integrity": f"sha512-{'A' * 86}=="},
        {
            "kind": "npm",
            "name": "--registry=x",
            "version": "1.0.0",
            "integrity": f"sha512-{'A' * 86}==",
        },
        {"kind": "npm", "name": "../x", "version": "1.0.0", "integrity": f"sha512-{'A' * 86}=="},
        {"kind": "npm", "name": "x", "version": "1.0.0", "integrity": "sha1-AAAA"},
        {"kind": "svn", "url": "x"},
    ],
)
def test_a_source_that_is_not_pinned_or_not_a_name_is_refused(source: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Source).validate_json(json.dumps(source))
