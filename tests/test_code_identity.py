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

import pytest

from runner.code_identity import code_digest, imported_sources, module_files

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
        changed("import re\n", "import re\nimport os\n"),
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
import hashlib, json, pathlib, sys, types

def digest_of(value):
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()

records = types.ModuleType("runner.records")  # the real one needs packages this Python has not
records.digest_of, records.Sha256 = digest_of, str
sys.modules["runner.records"] = records
identity = types.ModuleType("code_identity")
folder = pathlib.Path(sys.argv[1])
exec((folder / "code_identity.py").read_text(encoding="utf-8"), identity.__dict__)
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
    (tmp_path / "code_identity.py").write_bytes((RUNNER / "code_identity.py").read_bytes())
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


# --- which files ----------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`shop.till` imports `shop.goods.price`, and that `shop.text`; nobody imports `shop.alone`."""
    files = {
        "__init__.py": "",
        "till.py": "import json\nfrom shop.goods import price\n",
        "goods/__init__.py": "from shop.spare import SPARE\n",
        "goods/price.py": "def cut():\n    from shop.text import fold\n",
        "text.py": "import shop.till\n",
        "spare.py": "SPARE = 1\n",
        "alone.py": "from shop.text import fold\n",
    }
    for name, source in files.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    for name in [name for name in sys.modules if name.split(".")[0] == "shop"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "shop"


def names(package: Path, sources: list[Path]) -> list[str]:
    return [path.relative_to(package).as_posix() for path in sources]


def test_imports_are_followed_through_packages_functions_and_circles(package: Path) -> None:
    assert names(package, imported_sources("shop.till")) == [
        "goods/__init__.py",
        "goods/price.py",
        "spare.py",
        "text.py",
        "till.py",
    ]


def test_a_module_apart_is_left_out_with_what_only_it_imports(package: Path) -> None:
    sources = imported_sources("shop.till", apart_from=("shop.goods.price", "shop.goods"))
    assert names(package, sources) == ["till.py"]


def test_a_relative_import_is_refused_since_it_is_not_followed(package: Path) -> None:
    (package / "alone.py").write_text("from . import text\n")
    with pytest.raises(ValueError, match=r"shop\.alone: a relative import"):
        imported_sources("shop.alone")


def test_a_package_s_modules_come_sorted_and_by_name(package: Path) -> None:
    every = list(module_files("shop"))
    assert names(package, every) == ["__init__.py", "alone.py", "spare.py", "text.py", "till.py"]
    assert names(package, list(module_files("shop", "till", "text"))) == ["text.py", "till.py"]


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
