"""Queries read from files: all that is wrong at once, and nothing unread taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.benchmarks.agentbench.execution import MOST_TOGETHER, cells_for
from runner.benchmarks.agentbench.queries import Category, Queries, Query, ReferenceCall
from runner.benchmarks.agentbench.suite import Suite, chosen, load_suite, read_queries
from runner.benchmarks.agentbench.written import as_yaml, write_yaml
from runner.errors import CatalogError, FairtrialError
from runner.records import parse_yaml
from tests.benchmarks.agentbench.material import TRENCH, query_of, unfed

TESTBED = ("price_list", "unit_calc")
SINGLE: Category = "single-server-single-call"
PARALLEL: Category = "multi-server-parallel-call"


def write(file: Path, *queries: Query) -> Path:
    file.write_text(as_yaml(Queries(queries=queries)))
    return file


def load(source: Path, *, unreviewed: bool = False) -> Suite:
    return load_suite(source, testbed=TESTBED, unreviewed=unreviewed)


def told(suite: Suite) -> list[str]:
    return [str(problem) for problem in suite.problems]


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    write(tmp_path / f"{SINGLE}.yaml", query_of(SINGLE), query_of(SINGLE, id="two"))
    write(tmp_path / f"{PARALLEL}.yaml", query_of(PARALLEL, id="three"))
    assert [query.id for query in load(tmp_path).sound()] == ["three", "trench", "two"]


def test_a_file_may_hold_queries_of_any_category(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.yaml", query_of(SINGLE), query_of(PARALLEL, id="other"))
    assert len(load(file).sound()) == 2


def test_every_problem_of_every_file_is_told_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "README.md").write_text("How to write one.")
    write(
        tmp_path / f"{SINGLE}.yaml",
        query_of(SINGLE),
        query_of(PARALLEL, id="misplaced"),
        query_of(SINGLE, id="generated", unreviewed=True),
    )
    stranger = unfed(TRENCH, server="abacus")
    write(tmp_path / f"{PARALLEL}.yaml", query_of(PARALLEL, calls=(stranger,) * 2))
    (tmp_path / "multi-server-single-call.yaml").write_text("queries: [{id: x}]")
    suite = load(tmp_path)
    assert "README" not in "".join(told(suite))
    lines = "\n".join(told(suite))
    for expected in (
        "notes.txt: nothing reads this",
        f"{SINGLE}.yaml queries[0].id: 'trench' is the id of",
        f"{SINGLE}.yaml queries[1].category: is 'multi-server-parallel-call', but the file",
        f"{SINGLE}.yaml queries[2].unreviewed: generated, and read by nobody",
        f"{PARALLEL}.yaml queries[0].servers: there is no server 'abacus'",
        "multi-server-single-call.yaml queries[0].category: Field required",
    ):
        assert expected in lines, expected
    with pytest.raises(CatalogError, match="agentbench check"):
        suite.sound()


def test_an_unreviewed_query_is_taken_only_where_it_is_asked_for(tmp_path: Path) -> None:
    file = write(tmp_path / "drafts.yaml", query_of(SINGLE, unreviewed=True))
    assert len(told(load(file))) == 1
    assert load(file, unreviewed=True).sound()[0].unreviewed


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_where_there_are_no_queries_that_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FairtrialError):
        load(tmp_path / name)


def test_queries_are_chosen_by_id_category_and_server(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.yaml", query_of(SINGLE), query_of(PARALLEL, id="other"))
    queries = load(file).queries

    def names(**asked: tuple[str, ...]) -> list[str]:
        return [loaded.query.id for loaded in chosen(queries, **asked)]

    assert names() == ["trench", "other"]
    assert names(ids=("other",)) == ["other"]
    assert names(categories=(SINGLE,)) == ["trench"]
    assert names(servers=("price_list",)) == ["other"]
    assert names(ids=("trench",), categories=(PARALLEL,)) == []
    for asked in ({"ids": ("x",)}, {"categories": ("hard",)}, {"servers": ("abacus",)}):
        with pytest.raises(FairtrialError, match="there are: "):
            names(**asked)


# --- written --------------------------------------------------------------------------------


def test_what_is_written_is_read_again_and_the_comments_at_its_top_stay(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("# Trenches.\n# By hand.\nqueries: []  # none yet\n")
    queries = Queries(queries=(query_of(SINGLE), query_of(PARALLEL, id="other")))
    write_yaml(file, queries)
    assert read_queries(file) == queries
    assert file.read_text().startswith("# Trenches.\n# By hand.\nqueries:\n- id: trench\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]


def test_a_result_of_several_lines_is_written_as_people_read_it() -> None:
    call = unfed(TRENCH, result="a: 1\n  b: 2\n")
    text = as_yaml(Queries(queries=(query_of(SINGLE, calls=(call,)),)))
    assert "result: |\n      a: 1\n        b: 2\n" in text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_whatever_a_tool_answers_is_read_as_it_was_written(result: str) -> None:
    call = ReferenceCall(server="unit_calc", tool="t", arguments={"x": [result]}, result=result)
    queries = Queries(queries=(query_of(SINGLE, calls=(call,)),))
    assert parse_yaml(as_yaml(queries), Queries, where="x") == queries


# --- cells ----------------------------------------------------------------------------------


@given(
    st.lists(st.frozensets(st.sampled_from("abcdefghijklmnopqrst"), min_size=1, max_size=5)),
)
def test_every_query_finds_its_servers_in_one_cell_of_few(wanted: list[frozenset[str]]) -> None:
    cells = cells_for(wanted)
    assert all(any(servers <= cell for cell in cells) for servers in wanted)
    assert all(len(cell) <= MOST_TOGETHER for cell in cells)
    assert len(cells) <= len(set(wanted))


def test_queries_of_the_same_servers_share_a_cell() -> None:
    wanted = [frozenset(pair) for pair in ("ab", "a", "bc", "c", "b")]
    assert cells_for(wanted) == [frozenset("abc")]
