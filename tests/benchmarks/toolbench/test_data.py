from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.benchmarks.toolbench.defects import unresolved_gold
from runner.benchmarks.toolbench.task_files import choose_tasks, load
from runner.benchmarks.toolbench.tasks import Task
from runner.support.errors import FairtrialError
from tests.benchmarks.toolbench.records import call, record, task


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def ids(sources: list[str]) -> list[str]:
    return [one.id for one in load(sources).tasks]


ONE, TWO, THREE = (json.dumps(record(uuid=name), indent=1) for name in ("one", "two", "three"))


def test_an_array_an_object_with_data_and_one_record_are_read(tmp_path: Path) -> None:
    array = write(tmp_path / "a.json", f"[{ONE}, {TWO}]")
    wrapped = write(tmp_path / "b.json", f'{{"data": [{THREE}]}}')
    alone = write(tmp_path / "c.json", json.dumps(record(uuid="four")))

    assert ids([array, wrapped, alone]) == ["one", "two", "three", "four"]


def test_json_lines_are_a_form_and_no_problem(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(record(uuid=name)) for name in ("one", "two"))

    data = load([write(tmp_path / "a.jsonl", f"\ufeff{lines}\n\n")])

    assert [one.id for one in data.tasks] == ["one", "two"]
    assert not data.problems


def test_a_missing_comma_costs_no_record_and_is_told(tmp_path: Path) -> None:
    data = load([write(tmp_path / "demo.json", f"[\n{ONE},\n{TWO}\n{THREE}\n]")])

    assert [one.id for one in data.tasks] == ["one", "two", "three"]
    (problem,) = map(str, data.problems)
    assert "no valid JSON" in problem
    assert "3 records were recovered one by one" in problem


def test_a_damaged_record_costs_only_itself(tmp_path: Path) -> None:
    damaged = TWO.replace('"category": "finance",', '"category": finance,')

    data = load([write(tmp_path / "a.json", f"[\n{ONE},\n{damaged},\n{THREE}\n]")])

    assert [one.id for one in data.tasks] == ["one", "three"]
    assert any("an object that cannot be read" in str(problem) for problem in data.problems)


def test_a_folder_is_read_in_order_with_all_that_is_below_it(tmp_path: Path) -> None:
    write(tmp_path / "browser" / "b.json", f"[{TWO}]")
    write(tmp_path / "finance" / "a.jsonl", json.dumps(record(uuid="three")))
    write(tmp_path / "README.md", "no data")

    assert ids([str(tmp_path)]) == ["two", "three"]


@pytest.mark.parametrize(
    "fixture",
    [b"", b"[]", b"{}", b'{"type": "FeatureCollection", "features": []}', b'[{"id": 1}]', b"\xff"],
)
def test_a_fixture_in_a_folder_is_told_and_costs_no_task(tmp_path: Path, fixture: bytes) -> None:
    write(tmp_path / "browser" / "a.json", f"[{ONE}]")
    (tmp_path / "browser" / "fixture.json").write_bytes(fixture)

    data = load([str(tmp_path)])

    assert [one.id for one in data.tasks] == ["one"]
    (problem,) = map(str, data.problems)
    assert "fixture.json" in problem
    assert "passed over" in problem
    assert not list(unresolved_gold(data.tasks))


def test_a_folder_of_fixtures_alone_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a.json", '{"id": 1}')

    with pytest.raises(FairtrialError, match="no file of the folder holds a record"):
        load([str(tmp_path)])


def test_records_of_one_id_keep_apart(tmp_path: Path) -> None:
    nameless = json.dumps({**record(), "uuid": ""})

    source = write(tmp_path / "a.json", f"[{ONE}, {ONE}, {nameless}]")

    assert ids([source]) == ["one", "one#2", "record-3"]


def test_what_is_no_record_is_told_and_left_out(tmp_path: Path) -> None:
    data = load([write(tmp_path / "a.json", f"[{ONE}, null, 5]")])

    assert len(data.tasks) == 1
    assert [str(one).partition(": ")[2] for one in data.problems] == ["it is no record"] * 2


@pytest.mark.parametrize("text", ["", "[]", "nothing", "[" * 3_000, '{"data": []}'])
def test_a_file_without_a_record_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(FairtrialError, match="holds no record") as error:
        load([write(tmp_path / "a.json", text)])

    assert error.value.where.endswith("a.json")


def test_a_record_that_is_nested_too_deeply_costs_only_itself(tmp_path: Path) -> None:
    deep = '{"uuid": "deep", "tools": ' + "[" * 500 + "]" * 500 + "}"

    data = load([write(tmp_path / "a.json", f"[\n{deep},\n{ONE}\n]")])

    assert [one.id for one in data.tasks] == ["one"]
    assert "nested too deeply" in str(data.problems[0])


def test_a_missing_file_an_empty_folder_and_bytes_that_are_no_text_are_errors(
    tmp_path: Path,
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(FairtrialError, match="no such file"):
        load([str(tmp_path / "none.json")])
    with pytest.raises(FairtrialError, match=r"holds no \.json file"):
        load([str(tmp_path / "empty")])
    with pytest.raises(FairtrialError, match="UTF-8"):
        load([str(tmp_path / "bytes.json")])


# --- URLs ---------------------------------------------------------------------------------------


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_url_is_read_like_a_file(tmp_path: Path, address: str) -> None:
    write(tmp_path / "a.json", f"[{ONE}]")

    assert ids([f"{address}/a.json"]) == ["one"]


def test_a_url_that_has_nothing_is_an_error_that_says_what_to_do(address: str) -> None:
    with pytest.raises(FairtrialError, match="the download failed") as error:
        load([f"{address}/none.json"])

    assert "download it yourself" in error.value.hint


# --- filters ------------------------------------------------------------------------------------


@pytest.fixture
def tasks() -> list[Task]:
    calls = (call("get_news", {}), call("list_markets", {}))
    return [
        task(uuid="b1", category="Browser"),
        task(uuid="b2", category="Browser"),
        task(uuid="f1", category="finance"),
        task(*calls, uuid="f2", category="finance"),
    ]


@pytest.mark.parametrize(
    ("levels", "found"),
    [
        (["easy"], ["b1", "b2", "f1"]),
        (["single"], ["b1", "b2", "f1"]),
        (["hard"], ["f2"]),
        (["multi"], ["f2"]),
        (["medium"], ["f2"]),
        (["EASY", "hard"], ["b1", "b2", "f1", "f2"]),
        ([], ["b1", "b2", "f1", "f2"]),
    ],
)
def test_each_documented_difficulty_chooses_its_tasks(
    tasks: list[Task], levels: list[str], found: list[str]
) -> None:
    assert [one.id for one in choose_tasks(tasks, difficulties=levels)] == found


def test_categories_are_chosen_whatever_their_case_and_several_at_once(tasks: list[Task]) -> None:
    assert [one.id for one in choose_tasks(tasks, categories=["BROWSER"])] == ["b1", "b2"]
    assert len(choose_tasks(tasks, categories=["browser", "Finance"])) == 4


def test_the_first_n_are_taken_after_the_filters(tasks: list[Task]) -> None:
    assert [one.id for one in choose_tasks(tasks, categories=["finance"], limit=1)] == ["f1"]
