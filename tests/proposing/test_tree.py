"""A place is proven or it is not proposed: every look-alike is given up. Real git, real parses."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.authoring.drafting.families import families
from runner.authoring.drafting.traits import trait_families
from runner.authoring.drafting.tree import FunctionWithCalls
from tests.proposing.trees import PYTHON, tree_of


def test_every_call_is_found_with_its_function_and_no_mention_is(tmp_path: Path) -> None:
    symbol = tree_of(tmp_path, PYTHON).symbol("count_money")
    assert isinstance(symbol, FunctionWithCalls)
    assert (symbol.path, symbol.definition.line) == ("shop/till.py", 1)
    assert [(it.path, it.line, it.owner, it.inside) for it in symbol.own_calls] == [
        ("shop/audit.py", 8, "Audit", "look_twice"),
        ("shop/audit.py", 11, "Audit", "look_twice"),
        ("shop/day.py", 6, "", "close_the_day"),
        ("shop/report.py", 5, "", "print_report"),
    ]
    assert [it.line for it in symbol.test_calls] == [5, 9, 13]


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ("def count_money(): ...\n", "2 functions of that name"),
        ("class Safe:\n    count_money = 3\n", "something else is called so too"),
        ("def spend(count_money):\n    return 1\n", "shop/extra.py:1 is no call"),
        ("def spend(till):\n    return pay(count_money=till)\n", "shop/extra.py:2 is no call"),
        ("def spend(till):\n    return till.count_money()\n", "`till`, which may be anything"),
        ("def spend(bank):\n    return bank.count_money()\n", "`bank`, which may be anything"),
        ("from bank.notes import count_money\n\ncount_money(1)\n", "imported from elsewhere"),
        ("def spend(till):\n    return count_money(till)\n", "is not imported by name"),
        ("def spend(till):\n    return getattr(till, 'count_money')\n", ":2 is no call"),
        ("from shop.till import count_money\n\nbusy = map(count_money, [])\n", ":3 is no call"),
    ],
    ids=[
        "another function",
        "an attribute",
        "a parameter",
        "a keyword",
        "a variable with the module's name",
        "an unknown receiver",
        "another package's",
        "a star import",
        "a string that is its name",
        "handed on as a value",
    ],
)
def test_one_look_alike_gives_the_name_up(tmp_path: Path, extra: str, why: str) -> None:
    if "till.count_money" in extra:
        extra = "till = open('x')\n\n" + extra
    symbol = tree_of(tmp_path, {**PYTHON, "shop/extra.py": extra}).symbol("count_money")
    assert isinstance(symbol, str)
    assert why in symbol


def test_a_look_alike_among_the_tests_leaves_the_code_proven(tmp_path: Path) -> None:
    extra = {"tests/test_bank.py": "def test_bank(bank):\n    bank.count_money()\n"}
    symbol = tree_of(tmp_path, {**PYTHON, **extra}).symbol("count_money")
    assert isinstance(symbol, FunctionWithCalls)
    assert symbol.doubtful_tests


def test_a_decorator_is_called_beside_its_function_and_helpers_are_no_tests(tmp_path: Path) -> None:
    extra = """\
from shop.till import count_money


def make_till():
    return count_money([1])


@count_money
def test_decorated():
    pass


def test_it():
    assert count_money([])
"""
    symbol = tree_of(tmp_path, {**PYTHON, "tests/test_more.py": extra}).symbol("count_money")
    assert isinstance(symbol, FunctionWithCalls)
    found = [(it.line, it.inside, it.is_case) for it in symbol.calls if "more" in it.path]
    assert found == [(5, "make_till", False), (8, "", False), (14, "test_it", True)]


def test_a_file_that_is_not_read_as_code_is_named(tmp_path: Path) -> None:
    extra = {"page.tmpl": "{{ count_money(till) }}", "NEWS.md": "count_money is new"}
    symbol = tree_of(tmp_path, {**PYTHON, **extra}).symbol("count_money")
    assert isinstance(symbol, FunctionWithCalls)
    assert symbol.written == ("page.tmpl",)


GO = {
    "till/till.go": """\
package till

type Till struct{}

func (t *Till) CountMoney() int { return 1 }
""",
    "day/day.go": """\
package day

import "example.org/shop/till"

func Close(t *till.Till) int {
	return t.CountMoney()
}
""",
}


def test_a_method_is_proven_where_the_receivers_type_is_written(tmp_path: Path) -> None:
    same = GO["day/day.go"].replace("till.Till", "Till")
    symbol = tree_of(tmp_path / "a", {**GO, "day/day.go": same}).symbol("CountMoney")
    assert isinstance(symbol, FunctionWithCalls)
    assert [(it.path, it.inside) for it in symbol.calls] == [("day/day.go", "Close")]
    unknown = same.replace("func Close(t *Till)", "func Close(t Counter)")
    doubted = tree_of(tmp_path / "b", {**GO, "day/day.go": unknown}).symbol("CountMoney")
    assert doubted == "day/day.go:6 is called on `t`, whose type is not written there"


RUBY = {
    "lib/till.rb": "class Till\n  def count_money\n    1\n  end\nend\n",
    "lib/day.rb": "class Day < Till\n  def close_day\n    count_money\n  end\nend\n",
}


def test_a_bare_ruby_name_is_a_call_unless_it_is_a_variable_somewhere(tmp_path: Path) -> None:
    symbol = tree_of(tmp_path / "a", RUBY).symbol("count_money")
    assert isinstance(symbol, FunctionWithCalls)
    assert [(it.path, it.line, it.inside) for it in symbol.calls] == [
        ("lib/day.rb", 3, "close_day")
    ]
    local = "def add_up\n  count_money = 2\n  count_money\nend\n"
    doubted = tree_of(tmp_path / "b", {**RUBY, "lib/local.rb": local}).symbol("count_money")
    assert doubted == "lib/local.rb:2 is no call"


def test_a_call_inside_of_a_php_string_gives_the_name_up(tmp_path: Path) -> None:
    head, told = "<?php\nclass ", " extends Till { function told() { return "
    php = {
        "a.php": f"{head}Till {{ protected function countMoney() {{ return 1; }} }}\n",
        "b.php": f"{head}Day{told}$this->countMoney(); }} }}\n",
    }
    assert isinstance(tree_of(tmp_path / "a", php).symbol("countMoney"), FunctionWithCalls)
    text = f'{head}Text{told}"{{$this->countMoney()}}"; }} }}\n'
    doubted = tree_of(tmp_path / "b", {**php, "c.php": text}).symbol("countMoney")
    assert doubted == "c.php:2 is no call"


def test_what_a_python_module_exports_by_name_is_not_doubted(tmp_path: Path) -> None:
    export = {"shop/__init__.py": "from .till import count_money\n\n__all__ = ['count_money']\n"}
    assert isinstance(
        tree_of(tmp_path, {**PYTHON, **export}).symbol("count_money"), FunctionWithCalls
    )


SHAPES = {
    "shapes/base.py": "class Shape:\n    def draw_outline(self):\n        pass\n",
    "shapes/round.py": """\
from shapes.base import Shape


class Circle(Shape):
    def draw_outline(self):
        pass


class Ring(Circle):
    def draw_outline(self):
        pass
""",
    "shapes/other.py": "class Cowboy:\n    def draw_outline(self):\n        pass\n",
}


def test_a_family_is_who_inherits_and_not_who_has_the_same_method(tmp_path: Path) -> None:
    (family,) = families(tree_of(tmp_path, SHAPES))
    assert (family.base, family.name) == ("Shape", "draw_outline")
    assert [it.owner for it in family.members] == ["Shape", "Circle", "Ring"]


def test_a_class_named_only_in_type_arguments_or_a_constructor_is_no_base(tmp_path: Path) -> None:
    kotlin = {
        "a.kt": "open class Shape { open fun drawOutline() {} }\n",
        "b.kt": "class Circle : Shape() { override fun drawOutline() {} }\n",
        "c.kt": """\
class Ring
    @JvmOverloads
    constructor(
        val inner: Circle = Circle(),
    ) : Shape() {
    override fun drawOutline() {}
}
""",
        "d.kt": "class Frame(val inner: Shape) : Pane() { fun drawOutline() {} }\n",
        "e.kt": "class Boxes : Pile<Shape>() { fun drawOutline() {} }\n",
        "f.kt": "class Bodiless\nclass Square : Shape() { fun drawOther() {} }\n",
    }
    (family,) = families(tree_of(tmp_path, kotlin))
    assert [it.owner for it in family.members] == ["Shape", "Circle", "Ring"]


def test_a_family_that_may_lack_a_member_is_not_asked_about(tmp_path: Path) -> None:
    kotlin = {
        "a.kt": "open class Shape { open fun drawOutline() {} }\n",
        "b.kt": "class Circle : Shape() { override fun drawOutline() {} }\n",
        "c.kt": "class Ring : Shape() { override fun drawOutline() {} }\n",
    }
    assert len(families(tree_of(tmp_path / "a", kotlin))) == 1
    nameless = "val any = object : Shape() { override fun drawOutline() {} }\n"
    assert not families(tree_of(tmp_path / "b", {**kotlin, "d.kt": nameless}))
    twice = {
        "e.kt": "class Box : Shape() { override fun drawOutline() {} }\n",
        "f.kt": "class Box\n",
    }
    assert not families(tree_of(tmp_path / "c", {**kotlin, **twice}))


TRAITS = {
    "src/shape.rs": """\
/// `impl Shape for Anything` is how it is done.
pub trait Shape<T> {
    fn draw_outline(&self) -> T;
    fn area(&self) -> T;
}

pub struct Dot;

impl Dot {
    fn draw_outline(&self) {}
}
""",
    "src/round.rs": """\
use crate::shape::{Dot, Shape};

impl<T: Default> Shape<T> for Circle<T> {
    fn draw_outline(&self) -> T { T::default() }
    fn area(&self) -> T { T::default() }
}

mod rings {
    impl super::Shape<u8> for &mut super::Ring {
        fn draw_outline(&self) -> u8 { 1 }
    }
}

#[cfg(test)]
mod tests {
    impl super::Shape<u8> for Fake {
        fn draw_outline(&self) -> u8 { 2 }
    }
}
""",
}


def test_a_rust_family_is_a_trait_and_the_types_outside_of_tests_with_a_block_for_it(
    tmp_path: Path,
) -> None:
    (family,) = trait_families(tree_of(tmp_path, TRAITS))
    assert (family.shown, family.of) == ("Shape::draw_outline", "types")
    assert [(it.owner, it.path, it.line) for it in family.members] == [
        ("Shape", "src/shape.rs", 3),
        ("Circle", "src/round.rs", 4),
        ("Ring", "src/round.rs", 10),
    ]


@pytest.mark.parametrize(
    "more",
    [
        "macro_rules! any { ($x:ty) => { impl Shape<u8> for $x { fn draw_outline(&self) {} } } }",
        "macro_rules! all { ($t:ident) => { impl $t for u8 { fn draw_outline(&self) {} } } }",
        "#[derive(Shape)]\nstruct Square;",
        "use crate::shape::Shape as Form;",
        "use std::fmt::{Debug, Shape};",
        "impl<T> Shape<u8> for T { fn draw_outline(&self) -> u8 { 3 } }",
        "impl Shape<u16> for Ring { fn draw_outline(&self) -> u16 { 3 } }",
        "trait Shape { fn draw_outline(&self); }",
    ],
)
def test_a_trait_that_something_unseen_may_implement_is_not_asked_about(
    tmp_path: Path, more: str
) -> None:
    assert not trait_families(tree_of(tmp_path, {**TRAITS, "src/more.rs": f"{more}\n"}))


def test_a_trait_under_an_attribute_that_may_implement_it_is_not_asked_about(
    tmp_path: Path,
) -> None:
    shape = TRAITS["src/shape.rs"].replace("pub trait", "#[enum_dispatch]\npub trait")
    assert not trait_families(tree_of(tmp_path, {**TRAITS, "src/shape.rs": shape}))


def test_a_class_whose_name_is_borne_twice_is_missed_through_no_class_between(
    tmp_path: Path,
) -> None:
    method = "    def ring_up(self):\n        return 1\n"
    files = {
        "base.py": f"class Till:\n{method}",
        "between.py": "from base import Till\n\n\nclass Between(Till):\n    pass\n",
        "paper.py": f"from base import Till\n\n\nclass Paper(Till):\n{method}",
        "coins.py": f"from base import Till\n\n\nclass Coins(Till):\n{method}",
        "notes.py": f"from between import Between\n\n\nclass Notes(Between):\n{method}",
    }
    (family,) = families(tree_of(tmp_path / "a", files))
    assert len(family.members) == 4
    twice = {**files, "tests/test_notes.py": "class Notes:\n    pass\n"}
    assert families(tree_of(tmp_path / "b", twice)) == []
