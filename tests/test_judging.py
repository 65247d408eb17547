"""Any answer, read and judged by `fairtrial judge --scenario S --answer FILE`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli.main import main
from runner.records import Prompt, Prose, StepEnd
from runner.runs.judging import read_answer
from runner.support.errors import FairtrialError
from tests.scoring.material import GOOD, SCENARIO

ROOT = Path(__file__).resolve().parents[1]
FLASK = "flask-error-handling"
STEPS = [step.name for step in SCENARIO.steps]


def written(tmp_path: Path, text: str, name: str = "answer.json") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_steps_are_found_by_name_in_whatever_order(tmp_path: Path) -> None:
    given = [{"name": name, "text": text} for name, text in zip(STEPS, GOOD, strict=True)]
    path = written(tmp_path, json.dumps({"steps": given[::-1]}))
    steps = read_answer(path, SCENARIO)
    assert [step.text for step in steps] == list(GOOD)
    assert [step.prompt for step in steps] == [step.prompt for step in SCENARIO.steps]


def test_a_transcript_is_an_answer(tmp_path: Path) -> None:
    events = [
        Prompt(step=0, text="?"),
        Prose(step=0, turn=0, text=GOOD[0]),
        StepEnd(step=0, stop="end"),
    ]
    text = "".join(event.model_dump_json() + "\n" for event in events)
    first, second = read_answer(written(tmp_path, text, "cell.jsonl"), SCENARIO)
    assert first.text == GOOD[0].strip() and second.text == ""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the file is empty"),
        ("Queue.deliver puts it", "not JSON"),
        ("[]", "no JSON object"),
        ('{"steps": []}', f"the step '{STEPS[0]}' is missing"),
        ('{"steps": [{"name": "tracing", "text": "a"}]}', "no step is called 'tracing'"),
        ('{"steps": [{"name": "trace"}]}', r"steps\[0\].text: Field required"),
        ('{"steps": [{"name": "trace", "text": null}]}', r"steps\[0\].text"),
        ('{"steps": {"trace": "a"}}', "steps: "),
        ('{"steps": [], "steps": []}', "a key is given twice"),
    ],
)
def test_what_is_no_answer_is_refused_in_words(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(FairtrialError, match=complaint) as caught:
        read_answer(written(tmp_path, text), SCENARIO)
    assert "answer.json" in str(caught.value) and caught.value.hint


def test_a_step_given_twice_is_refused(tmp_path: Path) -> None:
    steps = [{"name": name, "text": "a"} for name in [*STEPS, STEPS[0]]]
    with pytest.raises(FairtrialError, match="given 2 times"):
        read_answer(written(tmp_path, json.dumps({"steps": steps})), SCENARIO)


@pytest.mark.parametrize("text", ["", "{}\n", "no event\n"])
def test_a_transcript_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FairtrialError):
        read_answer(written(tmp_path, text, "cell.jsonl"), SCENARIO)


def test_the_verb_prints_what_its_json_promises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ROOT / "scenarios" / "core" / FLASK
    names = ["trace-the-exception", "callers-and-table", "tests-that-pin-it"]
    steps = []
    for number, name in enumerate(names, 1):
        text = (folder / "reference" / f"{number}.md").read_text()
        steps.append({"name": name, "text": text})
    steps.append({"name": "impact-of-reordering", "text": " "})
    path = written(tmp_path, json.dumps({"steps": steps}))
    asked = ["--root", str(ROOT), "judge", "--scenario", FLASK, "--answer", str(path), "--json"]
    with pytest.raises(SystemExit) as ended:
        main(asked)
    out, err = capsys.readouterr()
    assert ended.value.code == 0, err
    assert err == "the step impact-of-reordering has no text, and scores 0\n"
    printed = json.loads(out)
    assert list(printed) == ["scenario", "judge", "identity", "quality", "steps", "ratings"]
    assert [step["quality"] == 0 for step in printed["steps"]] == [False, False, False, True]
    keys = ["name", "quality", "criteria", "facts", "false_claims"]
    assert [list(step) for step in printed["steps"]] == [keys] * 4
