"""A key holds all of the answer and nothing else, or the name is not asked about. Real parses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from runner.authoring.drafting.tree import Tree
from runner.authoring.exact.kind import LANGUAGES, TAIL, Ground
from runner.authoring.exact.making import KINDS, questions_of
from runner.records import GitSource
from runner.records.exact import ExactQuestion
from tests.proposing.trees import PYTHON, padded, tree_of

SHOP = GitSource(kind="git", url="local:shop", commit="0" * 40)
NEAR = {
    "shop/notes.py": "# count_money is told of here alone\nrate = 1\n",
    "shop/coins.py": "def count_money_in_coins(till):\n    return till\n",
}


def asked(folder: Path, files: Mapping[str, str], kind: str, subject: str) -> ExactQuestion | None:
    return KINDS[kind].ask(Ground(tree_of(folder, files)), subject)


def key(folder: Path, files: Mapping[str, str], kind: str, subject: str) -> ExactQuestion:
    return key_in(tree_of(folder, files), kind, subject)


def key_in(tree: Tree, kind: str, subject: str) -> ExactQuestion:
    found = KINDS[kind].ask(Ground(tree), subject)
    assert found is not None
    return found


def lines(question: ExactQuestion) -> list[str]:
    return [f"{it.path}:{it.line}" for it in question.key.places]


def test_callers_are_the_calls_and_no_comment_no_import_and_no_test(tmp_path: Path) -> None:
    made = key(tmp_path, {**PYTHON, **NEAR}, "callers", "count_money")
    assert lines(made) == "shop/audit.py:8 shop/audit.py:11 shop/day.py:6 shop/report.py:5".split()
    optional = {f"{it.path}:{it.line}" for it in made.key.optional}
    # Its definition, an import, a comment beside a call.
    assert {"shop/till.py:1", "shop/day.py:1", "shop/day.py:5"} <= optional
    wrong = {f"{it.path}:{it.line}" for it in made.key.wrong}
    tests = {f"tests/test_till.py:{line}" for line in (5, 9, 13)}
    assert wrong == {"shop/notes.py:1", "shop/coins.py:1", *tests}


@pytest.mark.parametrize("kind", ["callers", "test_callers"])
def test_who_names_every_call_where_half_of_them_are_asked_for_loses(
    tmp_path: Path, kind: str
) -> None:
    ground = Ground(tree_of(tmp_path, PYTHON))
    found = {it: KINDS[it].ask(ground, "count_money") for it in ("callers", "test_callers")}
    made = found[kind]
    assert made is not None
    cited = {(it.path, it.line) for one in found.values() if one for it in one.key.places}
    asked = {(it.path, it.line) for it in made.key.places}
    assert cited - asked
    assert cited - asked <= {(it.path, it.line) for it in made.key.wrong}


def test_a_call_among_tests_that_may_be_no_tests_costs_nothing(tmp_path: Path) -> None:
    helper = "from shop.till import count_money\n\n\ndef full():\n    return count_money([1])\n"
    made = key(tmp_path, {**PYTHON, "tests/tools.py": helper}, "callers", "count_money")
    assert ("tests/tools.py", 5) in {(it.path, it.line) for it in made.key.optional}
    assert not any(it.path == "tests/tools.py" for it in made.key.wrong)


def test_a_name_that_a_program_of_tests_calls_is_not_asked_about(tmp_path: Path) -> None:
    program = "from shop.till import count_money\n\n\ndef main():\n    count_money([1])\n"
    files = {**PYTHON, "tilltest.py": program}
    assert asked(tmp_path, files, "callers", "count_money") is None


def test_test_callers_are_tests_and_a_helper_among_them_leaves_the_name_unasked(
    tmp_path: Path,
) -> None:
    made = key(tmp_path / "a", PYTHON, "test_callers", "count_money")
    assert lines(made) == "tests/test_till.py:5 tests/test_till.py:9 tests/test_till.py:13".split()
    helper = "from shop.till import count_money\n\n\ndef full():\n    return count_money([1])\n"
    files = {**PYTHON, "tests/test_more.py": helper}
    assert asked(tmp_path / "b", files, "test_callers", "count_money") is None


def test_a_signature_is_edited_where_it_is_defined_and_where_it_is_called(tmp_path: Path) -> None:
    made = key(tmp_path, PYTHON, "signature_edits", "count_money")
    assert lines(made)[-4:] == [
        "shop/till.py:1",
        "tests/test_till.py:5",
        "tests/test_till.py:9",
        "tests/test_till.py:13",
    ]
    assert len(made.key.places) == 8


def test_a_call_in_what_a_module_exports_is_a_caller(tmp_path: Path) -> None:
    files = {
        "till.js": "exports.day = exports.night = openDrawer({ bell: true })\n"
        "exports.week = function (bell) {\n  return bell ? openDrawer(bell) : null\n}\n"
        "module.exports = { month: openDrawer({ bell: false }), openDrawer }\n"
        "function openDrawer (options) {\n  return options.bell\n}\n"
    }
    made = key(tmp_path / "a", files, "callers", "openDrawer")
    assert lines(made) == ["till.js:1", "till.js:3", "till.js:5"]
    handed = {**files, "day.js": "exports.day = bound(openDrawer)\n"}
    assert asked(tmp_path / "b", handed, "callers", "openDrawer") is None


def test_a_call_in_a_using_statement_of_c_sharp_is_a_caller(tmp_path: Path) -> None:
    files = {
        "Till.cs": "class Till {\n    public static object OpenDrawer() { return null; }\n"
        "    void Day() {\n        using (var it = OpenDrawer()) {\n            OpenDrawer();\n"
        "        }\n    }\n}\n"
    }
    assert lines(key(tmp_path, files, "callers", "OpenDrawer")) == ["Till.cs:4", "Till.cs:5"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("shop/more.py", "def spend(till):\n    return getattr(till, 'count_money')\n"),
        ("shop/more.py", "def count_money(): ...\n"),
        ("testing/more.py", "from shop.till import count_money\n\n\nx = count_money([])\n"),
    ],
    ids=["by a string", "a second one", "in what may be a test"],
)
def test_a_name_in_doubt_is_not_asked_about(tmp_path: Path, path: str, text: str) -> None:
    for kind in ("callers", "signature_edits"):
        assert asked(tmp_path / kind, {**PYTHON, path: text}, kind, "count_money") is None


@pytest.mark.parametrize(
    ("path", "text", "asked_about"),
    [
        ("views/bill.html.erb", "<p><%= count_money till %></p>\n", False),
        ("views/bill.haml", "%p= count_money till\n", False),
        ("views/bill.vue", "<p>{{ count_money(till) }}</p>\n", False),
        ("views/bill.html", "<p>{{ till | count_money }}</p>\n", False),
        ("views/bill.html", "<script>\ncount_money()\n</script>\n", False),
        ("views/bill.html", "<h1>count_money</h1>\n", True),
        ("config/recurring.yml", "fill:\n  command: 'Till.count_money'\n", False),
        ("pyproject.toml", 'till = "shop.till:count_money"\n', False),
        ("config/names.yml", "count_money: true\n", True),
        ("docs/bill.html", "<p>{{ count_money(till) }}</p>\n", True),
        ("till.api", "public fun count_money ()I\n", True),
        ("till.ipynb", '{"source": "count_money([1])"}\n', True),
    ],
)
def test_a_name_that_a_template_or_a_schedule_runs_is_not_asked_about(
    tmp_path: Path, path: str, text: str, asked_about: bool
) -> None:
    files = {
        **PYTHON,
        path: text,
        "shop/limits.py": "MOST_COINS = 9\na = MOST_COINS\nb = MOST_COINS\n",
    }
    ground = Ground(tree_of(tmp_path / "a", files))
    assert (KINDS["callers"].ask(ground, "count_money") is not None) is asked_about
    files[path] = text.replace("count_money", "MOST_COINS")
    ground = Ground(tree_of(tmp_path / "b", files))
    assert (KINDS["uses"].ask(ground, "MOST_COINS") is not None) is asked_about


def test_a_function_that_calls_itself_is_not_asked_about(tmp_path: Path) -> None:
    files = {"a.py": "def walk_down(tree):\n    return walk_down(tree)\n\n\nwalk_down(1)\n"}
    assert asked(tmp_path, files, "callers", "walk_down") is None


RUST = "pub fn ring_up() -> u8 {\n    1\n}\n\npub fn day() -> u8 {\n    ring_up()\n}\n"
RUST_TESTS = "\n#[cfg(test)]\nmod tests {\n    fn twice() -> u8 { super::ring_up() }\n}\n"


@pytest.mark.parametrize(
    "files",
    [
        {"src/till.rs": RUST + RUST_TESTS},
        {"src/till.rs": RUST, "src/test.rs": "fn twice() -> u8 { ring_up() }\n"},
        {"src/till.rs": RUST, "benches/till.rs": "fn twice() -> u8 { ring_up() }\n"},
    ],
)
def test_a_name_that_is_called_where_some_see_tests_is_not_asked_about(
    tmp_path: Path, files: Mapping[str, str]
) -> None:
    plain = Ground(tree_of(tmp_path / "plain", {"src/till.rs": RUST}))
    assert plain.symbol("ring_up") is not None
    assert Ground(tree_of(tmp_path / "tested", files)).symbol("ring_up") is None


def test_a_name_that_a_macro_pastes_together_is_not_asked_about(tmp_path: Path) -> None:
    plain = {
        "a.c": "int safe_read(void) { return 1; }\n\n"
        "int one(void) { return safe_read(); }\nint two(void) { return safe_read(); }\n",
    }
    assert len(key(tmp_path / "a", plain, "callers", "safe_read").key.places) == 2
    pasted = {**plain, "b.h": "#define DO(what) safe_##what()\n"}
    assert asked(tmp_path / "b", pasted, "callers", "safe_read") is None


# --- none ---------------------------------------------------------------------------------------


def test_nobody_calls_what_only_a_test_calls(tmp_path: Path) -> None:
    files = {
        "shop/till.py": "def open_drawer():\n    return 1\n",
        "tests/test_till.py": "from shop.till import open_drawer\n"
        + "\n" * 20
        + "def test_it():\n    assert open_drawer()\n",
    }
    made = key(tmp_path, files, "no_caller", "open_drawer")
    assert made.key.places == ()
    assert [f"{it.path}:{it.line}" for it in made.key.wrong] == ["tests/test_till.py:23"]
    assert asked(tmp_path / "b", PYTHON, "no_caller", "count_money") is None


def test_an_invented_name_stands_nowhere(tmp_path: Path) -> None:
    files = {"a.py": "def parse_config(): ...\n\n\ndef read_header(): ...\n"}
    made = key(tmp_path / "a", files, "no_such_name", "parse_config+read_header")
    assert "`parse_header`" in made.prompt
    assert made.key.places == made.key.optional == ()
    written = {**files, "b.py": "# parse_header would be one\n"}
    pair = "parse_config+read_header"
    assert asked(tmp_path / "b", written, "no_such_name", pair) is None


def test_a_question_without_an_answer_reads_like_one_with(tmp_path: Path) -> None:
    some = key(tmp_path / "a", PYTHON, "callers", "count_money")
    none = key(
        tmp_path / "b",
        {"a.py": "def count_money():\n    return 1\n"},
        "no_caller",
        "count_money",
    )
    assert some.prompt == none.prompt


# --- the other kinds ----------------------------------------------------------------------------


def test_every_use_of_a_constant_counts_and_no_keyword_is_one(tmp_path: Path) -> None:
    files = {
        "shop/limits.py": "MOST_COINS = 9\n",
        "shop/till.py": "from shop.limits import MOST_COINS\n\n\ndef fits(coins):\n"
        "    return coins < MOST_COINS\n",
        "shop/bag.py": "from shop import limits\n\n\ndef fits(coins):\n"
        "    return coins < limits.MOST_COINS\n",
    }
    made = key(tmp_path / "a", files, "uses", "MOST_COINS")
    assert lines(made) == "shop/bag.py:5 shop/till.py:5".split()
    keyword = {**files, "shop/more.py": "def more(pay):\n    pay(MOST_COINS=1)\n"}
    assert asked(tmp_path / "b", keyword, "uses", "MOST_COINS") is None
    alias = "from shop import limits\n\n\ndef fits(coins):\n    MOST_COINS = limits.MOST_COINS\n"
    alias += "    return coins < MOST_COINS\n"
    assert asked(tmp_path / "c", {**files, "shop/own.py": alias}, "uses", "MOST_COINS") is None


KOTLIN = {
    "shop/Till.kt": """\
package shop

object Till {
  const val MOST_COINS: Int = 40
}
""",
    "shop/Day.kt": """\
package shop

class Day {
  fun half(): Int = Till.MOST_COINS / 2

  fun all(): Int = Till.MOST_COINS
}
""",
}


def test_a_use_in_what_the_parser_takes_for_a_string_leaves_the_name_unasked(
    tmp_path: Path,
) -> None:
    whole = tree_of(tmp_path / "whole", KOTLIN)
    assert KINDS["uses"].ask(Ground(whole), "MOST_COINS") is not None
    # The grammar loses its way; from `$coins"` on it takes strings for code, and code for strings.
    lost = """\
      else -> {
        log("it is: $coins")
  @Shown(name = Till.MOST_COINS, always = true)
  @Shown(name = "two")
"""
    broken = tree_of(tmp_path / "broken", {**KOTLIN, "shop/Shown.kt": lost})
    assert broken.code["shop/Shown.kt"].outline.is_mute(lost.index("MOST_COINS"))
    assert KINDS["uses"].ask(Ground(broken), "MOST_COINS") is None


def test_a_setter_that_a_macro_makes_of_a_field_leaves_it_unasked(tmp_path: Path) -> None:
    files = {
        "till.rs": "struct Till { coin_count: u8 }\nfn one(it: &Till) -> u8 { it.coin_count }\n"
        "fn two(it: &Till) -> u8 { it.coin_count }\n",
    }
    assert len(key(tmp_path / "a", files, "uses", "coin_count").key.places) == 2
    built = {**files, "bag.rs": "fn bag(it: Builder) { it.coin_count(2); }\n"}
    assert asked(tmp_path / "b", built, "uses", "coin_count") is None


def test_a_field_is_used_where_the_grammar_says_field(tmp_path: Path) -> None:
    files = {
        "till.c": "struct till { int coin_count; };\n"
        "int one(struct till *it) { return it->coin_count; }\n"
        "void two(struct till *it) { it->coin_count = 2; }\n",
    }
    assert lines(key(tmp_path / "a", files, "uses", "coin_count")) == ["till.c:2", "till.c:3"]
    local = {**files, "bag.c": "int bag(void) { int coin_count = 1; return coin_count; }\n"}
    assert asked(tmp_path / "b", local, "uses", "coin_count") is None


@pytest.mark.parametrize(
    ("path", "own", "other"),
    [
        (
            "till.c",
            "typedef struct till { int coin_count; } till_t;\n",
            "int two({type} *RESTRICT it) {{\n  if (one && it)\n    return it->coin_count;\n}}\n"
            "int one({type} *bag, {type} *it) {{ return (*it).coin_count; }}\n",
        ),
        (
            "till.go",
            "package shop\n\ntype Till struct {\n\tcoinCount int\n}\n",
            "func one(it *{type}) int {{ return it.coinCount }}\n"
            "func two(it {type}) int {{ return it.coinCount }}\n",
        ),
        (
            "till.rs",
            "struct Till { coin_count: u8 }\n",
            "fn one(it: &mut {type}) -> u8 {{ it.coin_count }}\n"
            "fn two(it: {type}) -> u8 {{ it.coin_count }}\n",
        ),
    ],
    ids="c go rust".split(),
)
def test_a_field_of_what_the_repository_does_not_define_leaves_the_name_unasked(
    tmp_path: Path, path: str, own: str, other: str
) -> None:
    field = "coinCount" if path.endswith(".go") else "coin_count"
    known = "till_t" if path.endswith(".c") else "Till"
    plain = {path: own + other.format(type=known)}
    assert len(key(tmp_path / "a", plain, "uses", field).key.places) == 2
    # A system's struct may have a field of that name, as `addrinfo` has `ai_next`.
    mixed = {path: own + other.format(type=known).replace(f"two({known}", "two(struct purse")}
    mixed[path] = mixed[path].replace(f"two(it: {known}", "two(it: bank::Purse")
    mixed[path] = mixed[path].replace(f"two(it {known}", "two(it *bank.Purse")
    assert mixed != plain
    assert asked(tmp_path / "b", mixed, "uses", field) is None


C_TILL = {
    "till.h": "#ifndef TILL_H\n#define TILL_H\n"
    "#define MAX2_COINS 9\nint open_drawer(int flags);\n#endif\n",
    "till.c": '#include "till.h"\nint open_drawer(int flags) { return flags; }\n',
    "day.c": "{include}"
    "int one(void) { return open_drawer(MAX2_COINS); }\n"
    "int two(void) { return open_drawer(MAX2_COINS); }\n",
}


@pytest.mark.parametrize(
    ("include", "asked_about"),
    [
        ('#include "till.h"\n', True),
        ('#include "all.h"\n', True),
        ("#include <sys/till.h>\n", False),
        ('#ifdef _WIN32\n#include "till.h"\n#else\n#include <till.h>\n#endif\n', False),
    ],
    ids="directly through elsewhere conditionally".split(),
)
def test_c_is_asked_about_where_the_repository_s_own_declaration_is_surely_included(
    tmp_path: Path, include: str, asked_about: bool
) -> None:
    files = {path: text.replace("{include}", include) for path, text in C_TILL.items()}
    files["all.h"] = '#pragma once\n#include "till.h"\n'
    ground = Ground(tree_of(tmp_path, files))
    for kind, name in (("callers", "open_drawer"), ("uses", "MAX2_COINS")):
        assert (KINDS[kind].ask(ground, name) is not None) is asked_about


def test_a_test_of_whether_a_macro_is_defined_is_optional(tmp_path: Path) -> None:
    files = {
        "till.c": "#ifndef MOST_COINS\n#define MOST_COINS 9\n#endif\n#if defined(MOST_COINS)\n"
        "int one = MOST_COINS;\n#endif\n#if MOST_COINS > 3\nint two;\n#endif\n#undef MOST_COINS\n",
    }
    made = key(tmp_path, files, "uses", "MOST_COINS")
    assert lines(made) == ["till.c:5", "till.c:7"]
    assert [it.line for it in made.key.optional] == [1, 2, 4, 10]


def test_overriders_are_the_methods_under_it(tmp_path: Path) -> None:
    methods = "    def ring_up(self):\n        return 1\n"
    files = {
        "base.py": f"class Till:\n{methods}",
        "paper.py": f"from base import Till\n\n\nclass Paper(Till):\n{methods}",
        "coins.py": f"from paper import Paper\n\n\nclass Coins(Paper):\n{methods}",
        "bell.py": f"class Bell:\n{methods}",
    }
    made = key(tmp_path, files, "overriders", "Till.ring_up")
    assert lines(made) == ["coins.py:5", "paper.py:5"]
    assert ("bell.py", 2) in {(it.path, it.line) for it in made.key.wrong}


def test_a_family_is_not_told_where_what_is_mixed_in_beside_its_base_has_the_method(
    tmp_path: Path,
) -> None:
    methods = "    def ring_up(self):\n        return 1\n\n\n"
    heirs = "".join(f"class {it}(Till):\n{methods}" for it in ("Paper", "Coins"))
    files = {"shop.py": f"class Till:\n{methods}{heirs}class Bell:\n{methods}"}
    assert asked(tmp_path / "a", files, "overriders", "Till.ring_up") is not None
    mixed = {"more.py": "from shop import Bell, Till\n\n\nclass Loud(Bell, Till): ...\n"}
    whole = Ground(tree_of(tmp_path / "b", files | mixed))
    assert "Till.ring_up" not in KINDS["overriders"].subjects(whole)


def test_a_property_that_a_value_implements_is_not_asked_about(tmp_path: Path) -> None:
    heirs = "".join(
        f"class {it}(Till):\n    @property\n    def key_size(self):\n        return 1\n\n\n"
        for it in ("Drawer", "Box")
    )
    files = {"shop.py": f"class Till:\n    @property\n    def key_size(self): ...\n\n\n{heirs}"}
    assert asked(tmp_path / "a", files, "overriders", "Till.key_size") is not None
    valued = {"more.py": "from shop import Till\n\n\nclass Bag(Till):\n    key_size = 2\n"}
    assert asked(tmp_path / "b", files | valued, "overriders", "Till.key_size") is None


def test_a_call_reaches_the_one_that_is_imported(tmp_path: Path) -> None:
    define = "def ring_up():\n    return 1\n"
    files = {
        "shop/bell.py": define,
        "shop/till.py": define,
        "shop/day.py": "from shop.till import ring_up\n\n\ndef day():\n    return ring_up()\n",
    }
    made = key(tmp_path / "a", files, "which_definition", "ring_up")
    assert lines(made) == ["shop/till.py:1"]
    assert [it.path for it in made.key.wrong] == ["shop/bell.py"]
    local = {
        **files,
        "shop/day.py": "from shop.till import ring_up\n\n\ndef day(ring_up):\n"
        "    return ring_up()\n",
    }
    assert asked(tmp_path / "b", local, "which_definition", "ring_up") is None


def test_a_call_beside_what_it_reaches_is_not_asked_about(tmp_path: Path) -> None:
    """Else whoever only says the question again would be right."""
    define = "def ring_up():\n    return 1\n"
    near = define + "\n\ndef day():\n    return ring_up()\n"
    files = {"shop/bell.py": define, "shop/till.py": near}
    assert asked(tmp_path / "a", files, "which_definition", "ring_up") is None
    far = define + "\n" * 20 + "def day():\n    return ring_up()\n"
    files = {"shop/bell.py": define, "shop/till.py": far}
    assert lines(key(tmp_path / "b", files, "which_definition", "ring_up")) == ["shop/till.py:1"]


def test_a_method_of_self_is_not_told_where_another_class_overrides_it(tmp_path: Path) -> None:
    base = (
        "class Till:\n    def ring_up(self):\n        return 1\n"
        + "\n" * 20
        + "    def day(self):\n        return self.ring_up()\n"
    )
    other = "class Bell:\n    def ring_up(self):\n        return 1\n"
    files = {"till.py": base, "bell.py": other}
    assert lines(key(tmp_path / "a", files, "which_definition", "ring_up")) == ["till.py:2"]
    derived = "from till import Till\n\n\n" + other.replace("Bell", "Bell(Till)")
    files = {"till.py": base, "bell.py": derived}
    assert asked(tmp_path / "b", files, "which_definition", "ring_up") is None


@pytest.mark.parametrize(
    ("files", "places"),
    [
        (
            {
                "shop/_till.py": "def ring_up():\n    return 1\n",
                "shop/__init__.py": "from ._till import ring_up\n\n__all__ = ['ring_up']\n",
                "day.py": "from shop import ring_up\n\nring_up()\n",
            },
            ["shop/__init__.py:1"],
        ),
        (
            {
                "src/till.ts": "export function ring_up() {\n  return 1\n}\n",
                "src/index.ts": "export { ring_up } from './till'\n",
                "src/day.ts": "import { ring_up } from './till'\n\nring_up()\n",
            },
            ["src/index.ts:1"],
        ),
        (
            {
                "src/till.rs": "pub fn ring_up() -> u8 {\n    1\n}\n",
                "src/lib.rs": "mod till;\npub use till::ring_up;\n",
                "src/day.rs": "use crate::till::ring_up;\nfn day() -> u8 { ring_up() }\n",
            },
            ["src/lib.rs:2"],
        ),
    ],
    ids=["python", "typescript", "rust"],
)
def test_a_re_export_is_no_import(
    tmp_path: Path, files: Mapping[str, str], places: list[str]
) -> None:
    assert lines(key(tmp_path, files, "public_names", "ring_up")) == places


def test_a_module_in_the_path_of_an_import_is_not_re_exported(tmp_path: Path) -> None:
    files = {
        "shop/till.py": "NAME = 1\n",
        "shop/__init__.py": "from shop.versions import NAME\n",
        "shop/day.py": "def versions():\n    return 1\n",
    }
    assert asked(tmp_path, files, "public_names", "versions") is None


@pytest.mark.parametrize(
    ("path", "star", "module"),
    [
        ("src/till.ts", "src/index.ts", "'./till'"),
        ("src/till.ts", "src/index.ts", "'./till.js'"),
        ("src/till.service.ts", "src/index.ts", "'./till.service'"),
        ("src/index.ts", "src/all/index.ts", "'..'"),
        ("src/index.ts", "src/all/index.ts", "'../index'"),
        ("index.ts", "src/index.ts", "'../index'"),
        ("packages/till/index.ts", "src/index.ts", "'@shop/till'"),
    ],
)
@pytest.mark.parametrize("words", ["export *", "export type *", "export * as shop"])
def test_what_is_exported_by_a_star_is_not_asked_about(
    tmp_path: Path, path: str, star: str, module: str, words: str
) -> None:
    files = {
        path: "export function ring_up() {\n  return 1\n}\n",
        "src/day.ts": f"import {{ ring_up }} from '../{path}'\n\nring_up()\n",
    }
    assert asked(tmp_path / "plain", files, "no_public_name", "ring_up") is not None
    files[star] = f"{words} from {module}\n"
    for kind in ("public_names", "no_public_name"):
        assert asked(tmp_path / kind, files, kind, "ring_up") is None


def test_what_is_handed_on_without_its_module_is_not_asked_about(tmp_path: Path) -> None:
    files = {
        "src/till.ts": "export function ring_up() {\n  return 1\n}\n",
        "src/index.ts": "import { ring_up } from './till'\nexport { ring_up }\n",
    }
    assert asked(tmp_path, files, "no_public_name", "ring_up") is None


@pytest.mark.parametrize(
    ("files", "stars"),
    [
        (
            {
                "src/till.ts": "export function ring_up() {\n  return 1\n}\n",
                "src/money.ts": "export { ring_up } from './till'\n",
                "src/index.ts": "// all\nexport * from './money'\n",
                "index.ts": "export * from './src'\n",
                "other.ts": "export * from './src/other'\n",
            },
            {"src/index.ts:2", "index.ts:1"},
        ),
        (
            {
                "shop/sub/till.py": "def ring_up():\n    return 1\n",
                "shop/sub/__init__.py": "from .till import ring_up\n",
                "shop/__init__.py": "\nfrom .sub import *\n",
                "shop/more/__init__.py": "from .other import *\n",
            },
            {"shop/__init__.py:2"},
        ),
    ],
    ids=["typescript", "python"],
)
def test_a_star_above_a_re_export_costs_an_answer_nothing(
    tmp_path: Path, files: Mapping[str, str], stars: set[str]
) -> None:
    made = key(tmp_path, files, "public_names", "ring_up")
    assert len(made.key.places) == 1
    optional = {f"{it.path}:{it.line}" for it in made.key.optional}
    assert {it for it in optional if "till" not in it} == stars


def test_every_hop_counts_and_a_fork_ends_the_path(tmp_path: Path) -> None:
    files = {
        "a.py": "from b import second_step\n\n\ndef first_step():\n    return second_step()\n",
        "b.py": "from c import third_step\n\n\ndef second_step():\n    return third_step()\n",
        "c.py": "from d import last_step\n\n\ndef third_step():\n    return last_step()\n",
        "d.py": "def last_step():\n    return 1\n",
    }
    made = key(tmp_path / "a", files, "path_to_sink", "last_step")
    assert lines(made) == ["a.py:5", "b.py:5", "c.py:5"]
    assert "`first_step`" in made.prompt
    fork = {**files, "e.py": "from d import last_step\n\n\ndef fork():\n    return last_step()\n"}
    assert asked(tmp_path / "b", fork, "path_to_sink", "last_step") is None


# --- the draw -----------------------------------------------------------------------------------


def hop(name: str, *called: str) -> dict[str, str]:
    """A file with one function, which calls the others."""
    imports = "".join(f"from {it}_file import {it}\n" for it in called)
    body = "".join(f"    {it}()\n" for it in called) or "    return 1\n"
    return {f"{name}_file.py": f"{imports}\n\ndef {name}():\n{body}"}


def test_no_two_paths_share_a_call_or_begin_alike(tmp_path: Path) -> None:
    files = {
        # One way that is within another, and one that begins where they do.
        **hop("enter", "step_one", "other_one"),
        **hop("step_one", "step_two"),
        **hop("step_two", "step_three"),
        **hop("step_three", "step_four"),
        **hop("step_four"),
        **hop("other_one", "other_two"),
        **hop("other_two", "other_three"),
        **hop("other_three"),
        **hop("begin", "apart_one"),
        **hop("apart_one", "apart_two"),
        **hop("apart_two", "apart_three"),
        **hop("apart_three"),
    }
    tree, most = tree_of(tmp_path, files), 0
    for seed in range(8):
        made = questions_of(tree, SHOP, 40, seed).questions
        paths = [it for it in made if it.key.kind == "path_to_sink"]
        most = max(most, len(paths))
        assert len({it.prompt.split("`")[1] for it in paths}) == len(paths)
        calls = [place for it in paths for place in lines(it)]
        assert len(set(calls)) == len(calls)
    assert most == 2


def test_equal_seeds_give_equal_questions_and_no_name_is_asked_about_twice(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, padded({**PYTHON, **NEAR}))
    one, two, other = (questions_of(tree, SHOP, 12, seed).questions for seed in (1, 1, 2))
    assert one == two
    assert one != other
    assert len({it.name for it in one}) == len(one)


def test_no_prompt_gives_a_place_away(tmp_path: Path) -> None:
    made = questions_of(tree_of(tmp_path, padded(PYTHON)), SHOP, 30, 1)
    for it in made.questions:
        for place in it.key.places:
            assert f"{place.path}:{place.line}" not in it.prompt


@pytest.mark.parametrize("kind", ["callers", "test_callers", "signature_edits", "uses"])
def test_a_call_in_a_page_of_text_is_no_place_and_the_prompt_says_so(
    tmp_path: Path, kind: str
) -> None:
    limits = {
        "shop/limits.py": "MOST_COINS = 9\n",
        "shop/bag.py": "from shop.limits import MOST_COINS\n\n\ndef fits(coins):\n"
        "    few = coins < MOST_COINS\n    return few or coins == MOST_COINS\n",
    }
    names = "count_money(till)\nMOST_COINS\n"
    pages = {"README.md": f"```python\n{names}```\n", "tests/all.approved.txt": names}
    files = {**PYTHON, **limits, **pages}
    made = key(tmp_path, files, kind, "MOST_COINS" if kind == "uses" else "count_money")
    known = {it.path for it in (*made.key.places, *made.key.optional, *made.key.wrong)}
    assert known.isdisjoint(pages)
    assert "in a file that is no code (a page of documentation" in made.prompt
    assert made.prompt.endswith(TAIL)


def test_what_was_built_is_not_asked_about(tmp_path: Path) -> None:
    source = "export function ring_up() {\n  return 1\n}\nexport const a = [ring_up(), 1]\n"
    more = {f"src/other{number}.ts": f"export const x{number} = 1\n" for number in range(5)}
    use = "import { ring_up } from './till'\nring_up()\n"
    files = {"src/till.ts": source, "src/day.ts": use, "till.js": source, "dist/x.js": source}
    made = key(tmp_path, {**files, **more}, "callers", "ring_up")
    assert {it.path for it in made.key.places} == {"src/till.ts", "src/day.ts"}


def test_a_language_that_nothing_is_proven_in_is_not_asked_about(tmp_path: Path) -> None:
    files = {"till.lua": "function ring_up()\nend\nring_up()\nring_up()\n"}
    assert "lua" not in LANGUAGES
    assert Ground(tree_of(tmp_path, files)).names == []


# --- what a class gets from elsewhere -------------------------------------------------------------

FAR = "\n" * 20
RUBY_HOOK = (
    "module Filtering\n  def filter\n    on_change\n  end\n" + FAR + "  def on_change\n  end\nend\n"
)
PHP_HOOK = (
    "<?php\ntrait Filtering {\n    function filter() { $this->onChange(); }\n"
    + FAR
    + "    function onChange() {}\n}\n"
)
KOTLIN_HOOK = (
    "interface Filtering {\n    fun filter() { onChange() }\n" + FAR + "    fun onChange() {}\n}\n"
)
PYTHON_HOOK = (
    "class Filtering:\n    def filter(self):\n        self.on_change()\n"
    + FAR
    + "    def on_change(self): ...\n"
)


@pytest.mark.parametrize(
    ("path", "hook", "other", "joint"),
    [
        (
            "rb",
            RUBY_HOOK,
            "class Tabs::Metrics\n  def on_change\n  end\nend\n",
            "class Tabs::Metrics\n  include Filtering\n  def on_change\n  end\nend\n",
        ),
        (
            "rb",
            RUBY_HOOK,
            "module Metrics\n  def on_change\n  end\nend\n",
            "module Metrics\n  def on_change\n  end\nend\nFiltering.prepend(Metrics)\n",
        ),
        (
            "rb",
            RUBY_HOOK,
            "module Metrics\n  def on_change\n  end\nend\n",
            "module Metrics\n  def self.included(base)\n    base.extend(Filtering)\n  end\n"
            "  def on_change\n  end\nend\n",
        ),
        (
            "php",
            PHP_HOOK,
            "<?php\nclass Metrics {\n    function onChange() {}\n}\n",
            "<?php\nclass Metrics {\n    use Filtering;\n    function onChange() {}\n}\n",
        ),
        (
            "kt",
            KOTLIN_HOOK,
            "class Metrics {\n    fun onChange() {}\n}\n",
            "open class Metrics {\n    fun onChange() {}\n}\nclass All : Metrics(), Filtering\n",
        ),
        (
            "py",
            PYTHON_HOOK,
            "class Metrics:\n    def on_change(self): ...\n",
            "from filtering import Filtering\n\n\nclass Metrics:\n    def on_change(self): ...\n"
            "\n\nclass All(Metrics, Filtering): ...\n",
        ),
    ],
    ids="include prepend hook trait interface mixin".split(),
)
def test_a_hook_is_not_told_where_what_is_mixed_in_may_override_it(
    tmp_path: Path, path: str, hook: str, other: str, joint: str
) -> None:
    name = "onChange" if "onChange" in hook else "on_change"
    plain = {f"filtering.{path}": hook, f"metrics.{path}": other}
    assert lines(key(tmp_path / "a", plain, "which_definition", name)) == [
        f"filtering.{path}:{at(hook)}"
    ]
    mixed = {**plain, f"metrics.{path}": joint}
    assert asked(tmp_path / "b", mixed, "which_definition", name) is None


def at(hook: str) -> int:
    """The line of what comes last in it."""
    return hook.count("\n", 0, hook.lower().rindex("on")) + 1


@pytest.mark.parametrize(
    ("path", "till", "bell", "nameless"),
    [
        (
            "java",
            "class Till {\n    void day() { ringUp(); }\n" + FAR + "    void ringUp() {}\n}\n",
            "class Bell {\n    void ringUp() {}\n}\n",
            "class Bell {\n    Till till = new Till() {\n        void ringUp() {}\n    };\n}\n",
        ),
        (
            "js",
            "class Till {\n  day () { this.ringUp() }\n" + FAR + "  ringUp () {}\n}\n",
            "class Bell {\n  ringUp () {}\n}\nif (new Till().day()) { new Bell() }\n",
            "const bell = class extends Till {\n  ringUp () {}\n}\n",
        ),
    ],
    ids="java javascript".split(),
)
def test_a_hook_is_not_told_where_a_class_without_a_name_overrides_it(
    tmp_path: Path, path: str, till: str, bell: str, nameless: str
) -> None:
    files = {f"Till.{path}": till, f"Bell.{path}": bell}
    assert asked(tmp_path / "a", files, "which_definition", "ringUp") is not None
    files[f"Bell.{path}"] = nameless
    assert asked(tmp_path / "b", files, "which_definition", "ringUp") is None


def test_a_call_that_a_class_may_inherit_from_elsewhere_leaves_the_name_unasked(
    tmp_path: Path,
) -> None:
    files = {
        "job.rb": "module Job\n  def self.included(base)\n    base.extend(ClassMethods)\n  end\n"
        "  module ClassMethods\n    def queue_as(name)\n    end\n  end\nend\n",
        "mail.rb": "class Mail\n  include Job\n  queue_as :mail\nend\n",
        "bill.rb": "class Bill\n  include Job\n  queue_as :bill\nend\n",
    }
    assert lines(key(tmp_path / "a", files, "callers", "queue_as")) == ["bill.rb:3", "mail.rb:3"]
    # ActiveJob has a method of that name.
    base = "class ApplicationJob < ActiveJob::Base\nend\n"
    outside = {"some.rb": f"{base}class Some < ApplicationJob\n  queue_as :some\nend\n"}
    assert asked(tmp_path / "b", files | outside, "callers", "queue_as") is None


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (
            {
                "till.py": "class Till:\n    def ring_up(self): ...\n",
                "day.py": "from till import Till\n\n\nclass Day({base}):\n"
                "    def all(self):\n        self.ring_up()\n        self.ring_up()\n",
            },
            "ring_up",
        ),
        (
            {
                "till.php": "<?php\nclass Till {\n    function openDrawer() {}\n}\n",
                "day.php": "<?php\nclass Day extends {base} {\n    function all() {\n"
                "        $this->openDrawer();\n        $this->openDrawer();\n    }\n}\n",
            },
            "openDrawer",
        ),
        (
            {
                "Till.kt": "open class Till {\n    fun openDrawer() {}\n}\n",
                "Day.kt": "class Day : {base}() {\n    fun all() {\n        openDrawer()\n"
                "        openDrawer()\n    }\n}\n",
            },
            "openDrawer",
        ),
    ],
    ids="python php kotlin".split(),
)
def test_a_method_is_asked_about_where_the_class_that_calls_it_surely_has_it(
    tmp_path: Path, files: Mapping[str, str], name: str
) -> None:
    def derived(base: str) -> dict[str, str]:
        return {path: text.replace("{base}", base) for path, text in files.items()}

    assert len(key(tmp_path / "a", derived("Till"), "callers", name).key.places) == 2
    assert asked(tmp_path / "b", derived("Activity"), "callers", name) is None


OWN = {
    "kt": ("fun ringUp() {}", "fun day() { ringUp() }"),
    "js": ("ringUp () {}", "day () { [1].map(() => this.ringUp()) }"),
    "rb": ("def ringUp; end", "def day\n    ringUp()\n  end"),
    "java": ("void ringUp() {}", "void day() { go(() -> ringUp()); }"),
    "cs": ("void ringUp() {}", "void day() { ringUp(); }"),
    "cpp": ("void ringUp() {}", "void day() { ringUp(); }"),
    "php": ("function ringUp() {}", "function day() { $this->ringUp(); }"),
}
"""A method, and another that calls it."""


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("kt", "fun Bell.day() { ringUp() }"),
        ("kt", "fun day() { with(bell) { ringUp() } }"),
        ("kt", "fun day() { object : Bell() { fun f() { ringUp() } } }"),
        ("js", "day () { on(function () { this.ringUp() }) }"),
        ("js", "day () { return { f () { this.ringUp() } } }"),
        ("js", "day () { return class extends Bell { f () { this.ringUp() } } }"),
        ("js", "static day () { this.ringUp() }"),
        ("rb", "def day\n    bell.instance_eval { ringUp() }\n  end"),
        ("rb", "def self.day\n    ringUp()\n  end"),
        ("java", "void day() { new Bell() { void f() { ringUp(); } }; }"),
        ("kt", "fun day(ringUp: () -> Unit) { ringUp() }"),
        ("cs", "void day(System.Action ringUp) { ringUp(); }"),
        ("cpp", "void day(void (*ringUp)()) { ringUp(); }"),
        ("php", "function day() { Bell::macro(function () { $this->ringUp(); }); }"),
        ("php", "function day() { Bell::macro(fn () => $this->ringUp()); }"),
        ("php", "function day() { new class extends Bell { function f() { $this->ringUp(); } }; }"),
    ],
)
def test_what_another_object_may_be_asked_to_do_is_not_told_as_the_class_own(
    tmp_path: Path, path: str, day: str
) -> None:
    method, plain = OWN[path]
    opens, end = ("", "end") if path == "rb" else (" {", "};" if path == "cpp" else "}")
    top = "<?php\n" if path == "php" else ""
    bell = f"{top}class Bell{opens}\n  {method}\n{end}\n"
    for told in (plain, day):
        till = f"{top}class Till{opens}\n  {told}\n{FAR}  {method}\n{end}\n"
        files = {f"Till.{path}": till, f"Bell.{path}": bell}
        made = asked(tmp_path / str(told == plain), files, "which_definition", "ringUp")
        assert (made is not None) == (told == plain)


def test_a_class_that_the_parser_lost_its_way_in_rules_its_methods_out(tmp_path: Path) -> None:
    """`inline` is a word that Kotlin's grammar takes for a modifier: the class ends there."""
    base = "abstract class Till {\n  fun day() { ringUp() }\n" + FAR + "  open fun ringUp() {}\n}\n"
    heir = (
        "open class Bell(val a: Int) : Till() {\n  fun f(): Row {\n    return row {\n"
        "      entry(a)\n      inline = true\n      wide = 1\n    }\n  }\n"
        "  override fun ringUp() {}\n}\n"
    )
    heirs = {f"{name}.kt": heir.replace("Bell", name) for name in ("Bell", "Gong", "Drum")}
    well = {name: it.replace("inline", "inlined") for name, it in heirs.items()}
    assert (
        len(lines(key(tmp_path / "a", {"Till.kt": base, **well}, "overriders", "Till.ringUp"))) == 3
    )
    lost = {"Till.kt": base, **well, "Drum.kt": heirs["Drum.kt"]}
    assert "Till.ringUp" not in KINDS["overriders"].subjects(Ground(tree_of(tmp_path / "b", lost)))
    assert (
        asked(tmp_path / "c", {"Till.kt": base, "Bell.kt": heir}, "which_definition", "ringUp")
        is None
    )
    apart = "class Bell {\n  fun ringUp() {}\n}\n"
    assert asked(tmp_path / "d", {"Till.kt": base, "Bell.kt": apart}, "which_definition", "ringUp")


def test_a_method_of_cpp_that_is_defined_outside_of_its_class_is_a_function(tmp_path: Path) -> None:
    """Its head is optional where it calls; its class, not its namespace, stands in the prompt."""
    files = {
        "coins.cpp": "int count_coins(int rate) {\n  return rate;\n}\n",
        "till.cpp": '#include "coins.h"\nnamespace shop {\nvoid Till::open_drawer() {\n'
        + FAR
        + "  count_coins(1);\n}\nvoid Till::close_drawer() {\n  open_drawer();\n  count_coins(2);\n"
        "  if (0) {\n    open_drawer();\n  }\n}\n}\n",
        "coins.h": "int count_coins(int rate);\n",
    }
    asked_of = key(tmp_path / "a", files, "callers", "count_coins")
    assert lines(asked_of) == ["till.cpp:24", "till.cpp:28"]
    assert ("till.cpp", 3) in {(it.path, it.line) for it in asked_of.key.optional}
    assert "`Till.open_drawer`" in key(tmp_path / "b", files, "callers", "open_drawer").prompt


def test_a_class_of_which_there_are_several_is_named_with_what_it_stands_in(tmp_path: Path) -> None:
    files = {
        "a.rb": "module Shop\n  class Till\n    def count_money; end\n"
        "    def day\n      count_money\n    end\n    def night\n      count_money\n    end\n"
        "  end\nend\n",
        "b.rb": "module Bank\n  class Till\n    def other; end\n  end\nend\n",
    }
    assert "`Shop.Till.count_money`" in key(tmp_path / "a", files, "callers", "count_money").prompt
    del files["b.rb"]
    assert "`Till.count_money`" in key(tmp_path / "b", files, "callers", "count_money").prompt


def test_a_call_in_a_test_that_is_in_doubt_costs_nothing(tmp_path: Path) -> None:
    """On `shop`, whose type is not written: it may be this one, and was not asked for."""
    files = {
        "Till.java": "class Till {\n  void countMoney() {}\n  void day() { countMoney(); }\n"
        "  void night() { countMoney(); }\n}\n",
        "test/TillTest.java": "class TillTest {\n  void tests() { make().countMoney(); }\n}\n",
        "test/Notes.java": "// countMoney is told of here alone\nclass Notes {}\n",
    }
    made = key(tmp_path, files, "callers", "countMoney")
    assert ("test/TillTest.java", 2) in {(it.path, it.line) for it in made.key.optional}
    assert ("test/Notes.java", 1) in {(it.path, it.line) for it in made.key.wrong}


def test_a_lambda_of_python_has_a_self_of_its_own(tmp_path: Path) -> None:
    till = "class Till:\n    def day(self):\n        {}\n" + FAR
    till += "    def ring_up(self):\n        pass\n"
    bell = "class Bell:\n    def ring_up(self):\n        pass\n"
    for name, told in (("a", "self.ring_up()"), ("b", "Bell.x = lambda self: self.ring_up()")):
        files = {"till.py": till.format(told), "bell.py": bell}
        made = asked(tmp_path / name, files, "which_definition", "ring_up")
        assert (made is None) == (name == "b")
