"""Which symbols a health probe is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.authoring.onboarding.targets import TargetSymbol, symbols_of
from runner.grounding.commit_files import GitFiles
from runner.support.errors import FairtrialError
from tests.proposing.trees import commit


def symbols(tmp_path: Path, files: dict[str, str], language: str = "python") -> list[TargetSymbol]:
    with GitFiles(tmp_path, commit(tmp_path, files)) as repository:
        return symbols_of(repository, language)


def test_a_compound_name_that_is_defined_once_goes_before_a_plain_word(tmp_path: Path) -> None:
    found = symbols(
        tmp_path,
        {
            "a.py": "import b\n\n\ndef generate():\n    return 1\n",
            "b.py": "import a\n\n\ndef parse_config():\n    return a.generate()\n",
            "c.py": "import b\n\n\ndef run_twice():\n    return b.parse_config()\n",
            "d.py": "import b\n\n\ndef run_twice():\n    return b.parse_config()\n",
        },
    )
    assert [item.name for item in found] == ["parse_config", "generate"]
    assert (found[0].path, found[0].line, found[0].text) == ("b.py", 4, "def parse_config():")


def test_tests_constants_and_other_languages_come_last_or_not_at_all(tmp_path: Path) -> None:
    found = symbols(
        tmp_path,
        {
            "tests/t.py": "\n\ndef checked_by_test():\n    pass\n",
            "setup.py": "\n\ndef set_things_up():\n    pass\n",
            "src/x.ts": "\nexport const fixedValue = 3;\nexport function readValue() {}\n",
        },
        "typescript",
    )
    assert [item.name for item in found] == ["readValue", "set_things_up"]


def test_a_line_that_any_project_has_tells_nothing_of_this_one(tmp_path: Path) -> None:
    body = "    def __init__(self) -> None:\n        raise NotImplementedError\n"
    own = "        self.open_requests = list(self.requests_of_day())\n"
    (found,) = symbols(tmp_path, {"a.py": f"import b\n\n\nclass RequestLog:\n{body}{own}"})
    assert found.below == (own.strip(),)


def test_what_every_server_lists_goes_before_what_is_inside_private_or_a_type(
    tmp_path: Path,
) -> None:
    files = {
        "a.ts": "\nfunction outerOne() {\n  function innerOne() {}\n}\nouterOne();\n",
        "b.ts": "import './a';\ninterface RequestLike {\n  url: string;\n}\n",
        "c.ts": "\nconst keptKeys = known.filter((k) => k);\nexport const readKeys = (k) => k;\n",
    }
    found = symbols(tmp_path, files, "typescript")
    assert [item.name for item in found] == ["outerOne", "readKeys", "RequestLike"]


def test_a_repository_without_code_that_is_read_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(FairtrialError) as caught:
        symbols(tmp_path, {"README.md": "nothing\n"})
    assert "--probe" in caught.value.hint
