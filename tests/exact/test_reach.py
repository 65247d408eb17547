"""What its language rules out is not asked about: nobody has to search for that. Real parses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.exact.test_keys import asked, key

TESTS = {f"tests/test_{number}.py": f"x = {number}\n" for number in range(5)}
"""As many files of tests as a tree needs that is said to lack a test."""
JAVA = """\
class Till {
  MARKint ringUp() { return 1; }
  int day() { return ringUp(); }
}
"""
INTERFACE = """\
interface Till {
  MARKint ringUp() { return 1; }
}
"""
C_SHARP = """\
class Till {
  MARKint ringUp() { return 1; }
  public int Day() { return ringUp(); }
}
"""
KOTLIN = """\
open class Till {
  MARKfun ringUp() = 1
  fun day() = ringUp()
}
"""
METHOD = """\
export class Till {
  MARKringUp() {
    return 1
  }
  day() {
    return this.ringUp()
  }
}
"""
SCRIPT = """\
MARKfunction ringUp() {
  return 1
}
"""
C = """\
MARKint ringUp(void) { return 1; }
int day(void) { return ringUp(); }
"""
LOCAL = (
    "class Till {\n  int day() {\n    int ringUp() { return 1; }\n    return ringUp();\n  }\n}\n"
)
NESTED = "def day():\n    def ringUp():\n        return 1\n\n    return ringUp()\n"
FLAT = "def ringUp():\n    return 1\n\n\ndef day():\n    return ringUp()\n"


def marked(text: str, mark: str) -> str:
    return text.replace("MARK", mark)


@pytest.mark.parametrize(
    ("path", "closed", "opened"),
    [
        ("Till.java", marked(JAVA, "private "), marked(JAVA, "")),
        ("Till.cs", marked(C_SHARP, ""), marked(C_SHARP, "internal ")),
        ("Till.cs", LOCAL, marked(C_SHARP, "public ")),
        ("Till.kt", marked(KOTLIN, "private "), marked(KOTLIN, "")),
        ("till.ts", marked(METHOD, "private "), marked(METHOD, "")),
        (
            "till.ts",
            marked(SCRIPT, "") + "export const day = [ringUp()]\n",
            marked(SCRIPT, "export ") + "export const day = [ringUp()]\n",
        ),
        (
            "till.js",
            marked(SCRIPT, "") + "const day = [ringUp()]\nmodule.exports = { day }\n",
            marked(SCRIPT, "") + "const day = [ringUp()]\nmodule.exports = { day, ringUp }\n",
        ),
        ("till.py", NESTED, FLAT),
        ("till.c", marked(C, "static "), marked(C, "")),
    ],
    ids="java c_sharp local kotlin method typescript javascript python c".split(),
)
def test_what_no_test_could_call_is_not_said_to_lack_a_test(
    tmp_path: Path, path: str, closed: str, opened: str
) -> None:
    assert asked(tmp_path / "a", {path: closed, **TESTS}, "no_test", "ringUp") is None
    made = key(tmp_path / "b", {path: opened, **TESTS}, "no_test", "ringUp")
    assert made.key.places == ()


def heirs_of(files: Mapping[str, str]) -> dict[str, str]:
    """With a class under the one in each file, that has nothing of its own."""
    heads = {"cs": "class Bag : Till { }\n", "kt": "class Bag : Till()\n"}
    ((path, text),) = files.items()
    ending = path.rpartition(".")[2]
    return {path: text, f"Bag.{ending}": heads.get(ending, "class Bag extends Till { }\n")}


@pytest.mark.parametrize(
    ("path", "text", "closed", "opened"),
    [
        ("Till.java", INTERFACE, "static ", "default "),
        ("Till.java", JAVA, "final ", ""),
        ("Till.java", JAVA, "private ", ""),
        ("Till.cs", C_SHARP, "public ", "public virtual "),
        ("Till.cs", INTERFACE, "static ", ""),
        ("Till.kt", KOTLIN, "", "open "),
        ("till.ts", METHOD, "static ", ""),
    ],
    ids="java-static java-final java-private c_sharp c_sharp-static kotlin typescript".split(),
)
def test_what_cannot_be_overridden_is_not_asked_about(
    tmp_path: Path, path: str, text: str, closed: str, opened: str
) -> None:
    one, other = (heirs_of({path: marked(text, mark)}) for mark in (closed, opened))
    assert asked(tmp_path / "a", one, "no_overrider", "ringUp") is None
    assert key(tmp_path / "b", other, "no_overrider", "ringUp").key.places == ()


def test_a_static_method_that_hides_another_overrides_nothing(tmp_path: Path) -> None:
    method = "  static int ringUp() { return 1; }\n"
    heirs = {f"{it}.java": f"class {it} extends Till {{\n{method}}}\n" for it in ("Box", "Bag")}
    files = {"Till.java": f"class Till {{\n{method}}}\n", **heirs}
    assert asked(tmp_path / "a", files, "overriders", "Till.ringUp") is None
    plain = {path: text.replace("static ", "") for path, text in files.items()}
    assert len(key(tmp_path / "b", plain, "overriders", "Till.ringUp").key.places) == 2
