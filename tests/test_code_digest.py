"""Code is known again by what it does, on every Python we support."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.support import code_digest as code
from runner.support.code_digest import STATEMENTS, code_digest, definitions_in_use

RUNNER = Path(__file__).resolve().parent.parent / "runner"

SOURCE = '''\
"""Finds long words."""

import re

LONGEST = 70
"""Characters."""
WORD = re.compile(r"[a-z]+")


def long_words(text: str, *, least: int = 3) -> list[str]:
    """The words of at least so many letters."""
    # Short words say nothing.
    return [word for word in WORD.findall(text) if least <= len(word) < LONGEST]
'''


def digest(folder: Path, source: str) -> str:
    path = folder / "words.py"
    path.write_text(source, encoding="utf-8")
    return code_digest([path])


def changed(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1
    return SOURCE.replace(old, new)


# --- the digest -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        changed("    # Short words say nothing.\n", ""),
        changed("# Short words", "# They do what a line\n    # of code cannot: short words"),
        changed('"""Finds long words."""\n\n', ""),
        changed("at least so many letters", "`least` letters or more"),
        changed('"""Characters."""\n', '"""Letters of a word."""\n\n\n'),
        changed('re.compile(r"[a-z]+")', "re.compile('[a-z]' '+')"),
        changed(", *, least: int = 3) ->", ",\n    *,\n    least: int = 3,\n) ->"),
        changed("least <= len(word) < LONGEST]", "(least <= len(word) < LONGEST)]"),
        changed("import re\n", "import re\nimport os\n"),
        SOURCE.replace("    ", "\t"),
        SOURCE.replace("\n", "\r\n"),
    ],
)
def test_a_comment_a_docstring_or_a_reformatting_leaves_the_digest(
    tmp_path: Path, source: str
) -> None:
    assert source != SOURCE
    assert digest(tmp_path, source) == digest(tmp_path, SOURCE)


@pytest.mark.parametrize(
    "source",
    [
        changed("LONGEST = 70", "LONGEST = 71"),
        changed("LONGEST = 70", "LONGEST = 70.0"),
        changed("least: int = 3", "least: int = 4"),
        changed("least <= len(word)", "least < len(word)"),
        changed("[a-z]+", "[a-z]*"),
        changed("[a-z]+", "[а-z]+"),  # a Cyrillic letter that looks the same
        changed('r"[a-z]+"', 'r"[a-z]+", re.I'),
        changed("WORD.findall(text)", "WORD.split(text)"),
        changed(" if least <= len(word) < LONGEST", ""),
        changed(", *, least", ", least"),
    ],
)
def test_a_changed_constant_operator_pattern_or_name_changes_the_digest(
    tmp_path: Path, source: str
) -> None:
    assert digest(tmp_path, source) != digest(tmp_path, SOURCE)


def test_the_order_of_the_sources_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    first.write_text("A = 1\n")
    second.write_text("B = 2\n")
    assert code_digest([first, second]) != code_digest([second, first])


# --- other Pythons --------------------------------------------------------------------------

DIGEST_OF_OUR_CODE = """
import json, pathlib, sys, types

identity = sys.modules["code_digest"] = types.ModuleType("code_digest")
folder = pathlib.Path(sys.argv[1])
exec((folder / "support/code_digest.py").read_text(encoding="utf-8"), identity.__dict__)
sources = sorted(folder.rglob("*.py"))
print(json.dumps([len(sources), identity.code_digest(sources)]))
"""


def other_pythons() -> list[Path]:
    """Interpreters of pyenv that we support, besides this one's version."""
    found = []
    for path in (Path.home() / ".pyenv" / "versions").glob("3.*/bin/python"):
        version = tuple(int(part) for part in path.parts[-3].split(".")[:2] if part.isdigit())
        if version >= (3, 11) and version != sys.version_info[:2]:
            found.append(path)
    return sorted(found)


def digest_by(python: Path | str, folder: Path = RUNNER) -> list[object]:
    command = [str(python), "-I", "-c", DIGEST_OF_OUR_CODE, str(folder)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: list[object] = json.loads(printed)
    return result


def test_a_format_within_a_format_is_one_code_on_every_python(tmp_path: Path) -> None:
    """Python 3.12 puts a text of no letters after `{width}`; 3.11 and 3.13 do not."""
    own = tmp_path / "support/code_digest.py"
    own.parent.mkdir()
    own.write_bytes((RUNNER / "support/code_digest.py").read_bytes())
    (tmp_path / "row.py").write_text('print(f"{__name__:{len(__name__)}} {__name__}")\n')
    digests = {
        str(path): digest_by(path, tmp_path) for path in [Path(sys.executable), *other_pythons()]
    }
    assert len(set(map(str, digests.values()))) == 1, digests


def test_the_digest_of_all_our_code_is_the_same_on_every_python() -> None:
    pythons = other_pythons()
    if not pythons:
        pytest.skip("pyenv has no other Python from 3.11 on")
    ours = digest_by(sys.executable)
    assert ours[0] == len(list(RUNNER.rglob("*.py")))
    assert {str(python): digest_by(python) for python in pythons} == dict.fromkeys(
        map(str, pythons), ours
    )


# --- definitions ----------------------------------------------------------------------------

MODULES = {
    "__init__.py": "",
    "till.py": """
from math import fsum as total
from runner.goods import price
from runner.goods.cut import cut

def pay(goods):
    return total(price.of(one) for one in goods) - cut()
""",
    "goods/__init__.py": "",
    "goods/price.py": """
import json

def of(one):
    return json.loads(one) * RATE

RATE = 2
""",
    "goods/cut.py": "from runner.spare import cut\n",
    "spare.py": "def cut():\n    return mean()\n\ndef mean():\n    return 1\n",
    "other.py": "def cut():\n    return 2\n\nALONE = 1\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`till.pay` needs `price.of`, which needs `RATE`, and `cut`, which needs `mean`."""
    for name, source in MODULES.items():
        path = tmp_path / "runner" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    copied = SimpleNamespace(files=lambda top: tmp_path.joinpath(*top.split(".")))
    monkeypatch.setattr(code, "resources", copied)
    return tmp_path / "runner"


PAY = type("pay", (), {"__module__": "runner.till"})
"""Stands for the function `runner.till.pay`."""


def in_use() -> dict[str, str]:
    return definitions_in_use(PAY)


def edit(package: Path, name: str, old: str, new: str) -> None:
    path = package / name
    source = path.read_text()
    assert source.count(old) == 1
    path.write_text(source.replace(old, new))


def test_names_are_followed_through_modules_that_hand_them_on(package: Path) -> None:
    assert in_use().keys() == {"pay", "of", "RATE", "cut", "mean", STATEMENTS}


def test_a_name_apart_is_left_out_with_what_only_it_names(package: Path) -> None:
    without = definitions_in_use(PAY, apart_from=["cut"])
    assert without.keys() == {"pay", "of", "RATE", STATEMENTS}


def test_a_definition_that_nothing_names_is_free(package: Path) -> None:
    before = in_use()
    edit(package, "other.py", "ALONE = 1", "ALONE = 2")
    edit(package, "spare.py", "def mean", "def unasked():\n    return 3\n\ndef mean")
    assert in_use() == before


def test_a_definition_moves_to_another_module_without_a_trace(package: Path) -> None:
    before = in_use()
    (package / "tariff.py").write_text((package / "goods/price.py").read_text())
    (package / "goods/price.py").unlink()
    edit(package, "till.py", "from runner.goods import price", "from runner import tariff as price")
    edit(package, "till.py", "from runner.goods.cut import cut", "from runner.spare import cut")
    assert in_use() == before


def test_a_name_turned_to_another_definition_of_the_same_name_is_told(package: Path) -> None:
    before = in_use()
    edit(package, "goods/cut.py", "from runner.spare", "from runner.other")
    assert in_use()["cut"] != before["cut"]


def test_so_it_is_where_both_definitions_are_in_use(package: Path) -> None:
    edit(package, "goods/price.py", "RATE = 2", "from runner.other import cut\nRATE = cut()")
    before = in_use()
    edit(package, "goods/price.py", "from runner.other", "from runner.spare")
    edit(package, "goods/cut.py", "from runner.spare", "from runner.other")
    after = in_use()
    assert after["cut"] == before["cut"]
    assert {name for name in after if after[name] != before[name]} == {"RATE", "pay"}


def test_a_name_turned_to_another_package_is_told(package: Path) -> None:
    before = in_use()
    edit(
        package, "till.py", "from math import fsum as total", "from statistics import mean as total"
    )
    assert {name for name in before if in_use()[name] != before[name]} == {"pay"}


def test_what_runs_at_import_and_defines_nothing_is_told(package: Path) -> None:
    before = in_use()
    edit(package, "other.py", "ALONE = 1", "from runner import spare\nspare.mean = cut")
    assert in_use() == before
    edit(package, "goods/price.py", "import json", "import json\nfrom runner import other")
    assert {name for name in before if in_use()[name] != before[name]} == {STATEMENTS}


def test_a_relative_import_is_refused_since_it_is_not_followed(package: Path) -> None:
    edit(package, "till.py", "from runner.goods import price", "from .goods import price")
    with pytest.raises(ValueError, match="line 3: a relative import"):
        in_use()


@pytest.fixture
def switching_threads() -> Iterator[None]:
    """A thread gives way wherever it collects garbage, in the middle of a parse too."""
    threshold = gc.get_threshold()

    def give_way(*_: object) -> None:
        time.sleep(1e-4)

    gc.callbacks.append(give_way)
    gc.set_threshold(200)
    yield
    gc.set_threshold(*threshold)
    gc.callbacks.remove(give_way)


@pytest.mark.usefixtures("switching_threads")
def test_threads_digest_code_side_by_side(tmp_path: Path) -> None:
    source = tmp_path / "deep.py"
    source.write_text("x = " + "(1 + " * 60 + "1" + ")" * 60 + "\n" + "y = [1, 2]\n" * 200)
    with ThreadPoolExecutor(4) as pool:
        digests = list(pool.map(lambda _: code_digest([source]), range(40)))
    assert len(set(digests)) == 1
