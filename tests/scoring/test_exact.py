"""An answer to a question with a key: what is right, and every way to game it."""

from __future__ import annotations

import pytest

from runner.catalog.commit_lines import CommitLines
from runner.records import AnswerStep, ExactKey, MustCite, Rubric, RubricStep, StepVerdict, Verdict
from runner.scoring.judges.exact_judge import BESIDE, FOUND, NONE, Exact
from runner.support.errors import NoVerdict
from tests.scoring.material import GOOD, RUBRIC, TREE, Tree, answer

BODY = "".join(f"def f{line}(): return g{line}()\n" for line in range(1, 401))
FILES = {f"shop/{name}.py": BODY for name in ("cart", "till", "desk", "order", "stock")}
SHOP = Tree(FILES)


def place(path: str, line: int, end: int | None = None) -> MustCite:
    return MustCite(path=f"shop/{path}.py", line=line, end=end)


KEY = ExactKey(
    kind="callers",
    places=(place("cart", 40), place("cart", 120), place("till", 200), place("desk", 300, 330)),
    optional=(place("order", 10, 20), place("cart", 1)),
    wrong=(place("stock", 50), place("till", 207)),
)
NOBODY = ExactKey(kind="callers", optional=(place("order", 10, 20),), wrong=(place("stock", 50),))
RIGHT = [
    "shop/cart.py:40",
    "shop/cart.py:120",
    "shop/till.py:200",
    "shop/desk.py:310",
]


def judged(text: str, key: ExactKey = KEY, tree: Tree = SHOP) -> Verdict:
    step = RubricStep(name="trace", key=key)
    rubric = Rubric(audience="a developer", steps=(step,))
    given = AnswerStep(name="trace", prompt="", text=text, completed=bool(text))
    return Exact().judge(rubric, [given], ((),), CommitLines(lambda: tree))


def quality(*lines: str, key: ExactKey = KEY, tree: Tree = SHOP) -> float:
    return judged("\n".join(f"- `{line}`" for line in lines), key, tree).quality


def of(verdict: Verdict) -> StepVerdict:
    return verdict.steps[0]


def test_every_place_and_nothing_else_is_worth_all() -> None:
    verdict = judged("\n".join(f"- `{line}`" for line in RIGHT) + "\n\nFOUND: 4")

    assert verdict.quality == 1
    assert {name: it.score for name, it in of(verdict).criteria.items()} == {FOUND: 1, BESIDE: 1}
    assert [(fact.verdict, fact.place) for fact in verdict.facts] == [("stated", "right")] * 4


def test_up_to_five_lines_off_is_found_and_six_is_not() -> None:
    near = [*RIGHT[1:], "shop/cart.py:45"]
    far = [*RIGHT[1:], "shop/cart.py:46"]

    assert quality(*near) == 1
    assert quality(*far) == pytest.approx(3 / 4)  # three of four found, one of four beside them


def test_the_right_file_with_the_wrong_line_is_told_apart() -> None:
    verdict = judged("- `shop/cart.py:40`\n- `shop/cart.py:80`\n- `shop/till.py:200`")

    by_place = {fact.says: (fact.verdict, fact.place) for fact in verdict.facts}
    assert by_place["shop/cart.py:120"] == ("absent", "wrong_line")
    assert by_place["shop/desk.py:300-330"] == ("absent", "wrong_file")


def test_one_citation_finds_one_place_and_a_place_is_found_once() -> None:
    close = ExactKey(kind="callers", places=(place("cart", 40), place("cart", 42)))

    assert quality("shop/cart.py:41", key=close) == pytest.approx(2 / 3)
    assert quality("shop/cart.py:38", "shop/cart.py:44", key=close) == 1
    assert quality("shop/cart.py:40", "shop/cart.py:41", key=close) == 1
    # Said three times it is one place, and a second line beside it is no second place.
    assert quality("shop/cart.py:40", "shop/cart.py:40", "shop/cart.py:40") == pytest.approx(2 / 5)
    assert quality("shop/cart.py:40", "shop/cart.py:41") == pytest.approx(2 / 5)


def test_whichever_citation_comes_first_as_many_places_are_found_as_can_be() -> None:
    close = ExactKey(kind="callers", places=(place("cart", 40), place("cart", 44)))

    # 42 could have either place, 47 the second alone.
    assert quality("shop/cart.py:42", "shop/cart.py:47", key=close) == 1
    assert quality("shop/cart.py:47", "shop/cart.py:42", key=close) == 1


def test_what_is_optional_counts_neither_for_nor_against() -> None:
    assert quality(*RIGHT, "shop/order.py:12", "shop/cart.py:1") == 1
    assert quality("shop/order.py:12") == 0


def test_the_head_of_a_function_that_calls_finds_its_call_and_no_second_one() -> None:
    head, calls = place("cart", 38), (place("cart", 40), place("cart", 43))
    one = ExactKey(kind="callers", places=calls[:1], optional=(head,))
    two = ExactKey(kind="callers", places=calls, optional=(head,))

    assert quality("shop/cart.py:38", key=one) == 1
    assert quality("shop/cart.py:38", "shop/cart.py:40", key=one) == 1
    assert quality("shop/cart.py:38", "shop/cart.py:40", key=two) == pytest.approx(2 / 3)


def test_a_near_miss_counts_against_and_is_named() -> None:
    verdict = judged("\n".join([*RIGHT, "shop/stock.py:50"]))

    assert verdict.quality == pytest.approx(8 / 9)
    (claim,) = verdict.false_claims
    assert (claim.path, claim.line, claim.quote) == ("shop/stock.py", 50, "shop/stock.py:50")


def test_a_near_miss_beside_a_place_is_no_hit_by_tolerance() -> None:
    beside = ExactKey(kind="callers", places=(place("till", 200),), wrong=(place("till", 203),))

    assert quality("shop/till.py:203", key=beside) == 0
    assert quality("shop/till.py:201", key=beside) == 1


def test_a_place_too_many_and_a_place_too_few_both_cost() -> None:
    assert quality(*RIGHT, "shop/order.py:300") == pytest.approx(8 / 9)
    assert quality(*RIGHT[:3]) == pytest.approx(6 / 7)


def test_a_citation_of_a_file_alone_is_no_place() -> None:
    assert quality(*RIGHT, "shop/stock.py") == 1
    assert quality("shop/cart.py", "shop/till.py", "shop/desk.py") == 0


def test_an_answer_without_places_and_an_empty_one_are_worth_nothing() -> None:
    for text in ("", "FOUND: 0", "Everything in the cart calls it.", "I cannot help with that."):
        assert judged(text).quality == 0


# --- one answer in many styles ------------------------------------------------------------------

STYLES = {
    "ticked": "- [x] {0}\n- [x] {1}\n- [x] {2}\n- [ ] {3}",
    "numbered": "- [1] {0}\n- [2] {1}\n- [3] {2}\n- [4] {3}",
    "notes": "Four [1] [2] [3] [4].\n\n[1]: {0}\n[2]: {1}\n[3]: {2}\n[4]: {3}",
    "table": "| place | what |\n|--|--|\n| {0} | a |\n| {1} | b |\n| {2} | c |\n| {3} | d |",
    "sentence": "It is called in {0}, {1}, {2} and {3}.",
    "japanese": "呼び出し箇所は{0}、{1}、{2}、{3}です。",
    "fence": "```\n{0}: a\n{1}: b\n{2}: c\n{3}: d\n```",
    "JSON": '["{0}", "{1}", "{2}", "{3}"]',
    "HTML": "<ul><li>{0}</li><li>{1}</li><li>{2}</li><li>{3}</li></ul>",
    "as rg prints it": "```\nshop/cart.py\n40:return g40()\n120:return g120()\n\n"
    "shop/till.py\n200:return g200()\n\nshop/desk.py\n310:return g310()\n```",
    "said twice": "{0} {1} {2} {3}\n\nIn short: `{0}`, `{1}`, `{2}`, `{3}`.",
}


@pytest.mark.parametrize("style", STYLES)
def test_a_right_answer_is_worth_all_in_any_style(style: str) -> None:
    assert judged(STYLES[style].format(*RIGHT)).quality == 1


HALF = "{0}\n{2}".format(*RIGHT)
EVERY_11TH = [f"{path}:{line}" for path in FILES for line in range(6, 401, 11)]
CHEATS = {
    "denied": "\n".join(f"- not a caller: {it}" for it in EVERY_11TH),
    "hidden": f"Nobody calls it. <!-- {' '.join(EVERY_11TH)} -->",
    "as links": "\n".join(f"[{n}]: {it}" for n, it in enumerate(EVERY_11TH)),
    "as pictures": " ".join(f"![]({it.replace(':', '#L')})" for it in EVERY_11TH),
    "by the file's name": "\n".join(it.removeprefix("shop/") for it in EVERY_11TH),
    "lines without a file": ", ".join(FILES)
    + "\n"
    + "\n".join(f"- line {n}" for n in range(1, 401)),
    "as a column": "| file | lines |\n|--|--|\n"
    + "\n".join(f"| {path} | {', '.join(map(str, range(6, 401, 11)))} |" for path in FILES),
    "backwards": "\n".join(f"{path}:400-1" for path in FILES),
    "the files": "\n".join(f"```\n{path}\n{BODY}\n```" for path in FILES),
    "other slashes": "\n".join(it.replace("/", "\u2215") for it in EVERY_11TH),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_half_of_the_answer_beats_every_place_at_once(cheat: str) -> None:
    assert judged(HALF).quality == pytest.approx(2 / 3)
    assert judged(f"{CHEATS[cheat]}\n\nFOUND: 4").quality < 0.1


def test_the_line_that_says_none_is_no_free_addition_to_what_a_search_found() -> None:
    listed = "\n".join(RIGHT)

    assert judged(f"{listed}\n\nFOUND: 4").quality == 1
    assert judged(f"{listed}\n\nFOUND: 0").quality == 0


def test_a_name_that_may_be_any_of_several_files_finds_nothing() -> None:
    twice = Tree(FILES | {f"bazaar/{path}": BODY for path in FILES})
    bare = [line.removeprefix("shop/") for line in RIGHT]

    assert quality(*bare) == 1
    assert quality(*RIGHT, tree=twice) == 1
    assert quality(*bare, tree=twice) == 0


# --- ranges -------------------------------------------------------------------------------------


def test_a_range_that_is_no_wider_than_its_place_and_the_tolerance_costs_nothing() -> None:
    assert quality(*RIGHT[:3], "shop/desk.py:300-330") == 1
    assert quality(*RIGHT[1:], "shop/cart.py:35-45") == 1


def test_a_range_reaches_what_it_holds_and_no_more_lines_than_a_line_does() -> None:
    assert quality(*RIGHT[1:], "shop/cart.py:44-46") == 1
    assert quality(*RIGHT[1:], "shop/cart.py:45-55") == pytest.approx(3 / 4)
    moved = [f"{it.path}:{it.line + 5}-{it.line + 15}" for it in KEY.places if not it.end]
    assert quality(*moved) == 0, "ten lines off, written as ranges"


def test_a_wider_range_pays_for_its_lines() -> None:
    assert quality(*RIGHT[1:], "shop/cart.py:20-63") == pytest.approx(8 / 11)  # 44 lines: 4 of 11


def test_tiling_files_with_ranges_is_worth_no_more_than_a_spray_of_lines() -> None:
    every = [line for path in FILES for line in _tiles(path, 10)]
    wide = [line for path in FILES for line in _tiles(path, 100)]
    lines = [f"{path}:{line}" for path in FILES for line in range(1, 401, 11)]

    assert max(quality(*every), quality(*wide), quality(*lines)) < 0.06


def test_a_range_over_a_whole_file_is_worth_next_to_nothing() -> None:
    assert quality(*(f"{path}:1-400" for path in FILES)) < 0.05


def _tiles(path: str, size: int) -> list[str]:
    return [f"{path}:{first}-{first + size - 1}" for first in range(1, 400, size)]


# --- other cheats -------------------------------------------------------------------------------


def test_every_definition_of_the_repository_is_worth_next_to_nothing() -> None:
    everything = [f"{path}:{line}" for path in FILES for line in range(1, 401)]

    assert quality(*everything) < 0.06


def test_every_files_first_line_is_worth_nothing() -> None:
    assert quality(*(f"{path}:1" for path in FILES)) == 0


def test_the_questions_own_words_are_worth_nothing() -> None:
    assert judged("Which functions of shop/cart.py call `put`? Name the line of each.").quality == 0


def test_the_key_of_another_question_is_worth_nothing() -> None:
    assert quality("shop/stock.py:200", "shop/order.py:340", "shop/cart.py:300") == 0


# --- there is none ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Nobody calls it.\n\nFOUND: 0",
        "Niemand ruft es auf; ich habe überall gesucht.\n\n**FOUND: 0**",
        "この関数を呼ぶ箇所はありません。\n\n`FOUND: 0`",
        "It is defined at `shop/order.py:12`, and nothing calls it.\nfound: 0 places.",
        "I looked through `shop/cart.py`.\n- FOUND: 0",
        "Only comments name it.\n\nFOUND: 0 (none)",
        "没有调用它的地方。\n\nFOUND： 0",
        "FOUND: 0 callers",
        "FOUND: 0 (none found)",
        "FOUND: 0 — nobody calls it",
        "Nobody calls it. FOUND: 0",
        "1. FOUND: 0",
        "Answer: FOUND: 0",
        "<p>FOUND: 0</p>",
        "FOUND: none",
        "FOUND: 3\n\nNo, these are all comments.\n\nFOUND: 0",
    ],
)
def test_none_is_right_in_any_words_and_owes_no_citation(text: str) -> None:
    verdict = judged(text, NOBODY)

    assert verdict.quality == 1
    assert of(verdict).criteria[NONE].score == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I found none, but maybe shop/cart.py:3.\n\nFOUND: 0",
        "I found none, but maybe `shop/stock.py:50`.\n\nFOUND: 0",
        "FOUND: 0\n\nOn second thought there is one.\n\nFOUND: 1",
        "There are many.\n\nFOUND: 12",
        "I could not find out.",
        "I cannot help with this request.",
        "No.",
        "I would answer FOUND: 0 if I had looked",
        "FOUND: 0, or maybe 3",
        "FOUND: 0\n\nFOUND: 2 (one in 7 files)",
        "The prompt says: End with one line, FOUND: and how many there are.",
    ],
)
def test_a_hedge_a_guess_and_a_refusal_do_not_say_that_there_is_none(text: str) -> None:
    assert judged(text, NOBODY).quality == 0


def test_an_invented_caller_is_named_where_it_is_a_near_miss() -> None:
    verdict = judged("It is `shop/stock.py:50`.\n\nFOUND: 1", NOBODY)

    assert [(it.path, it.criterion) for it in verdict.false_claims] == [("shop/stock.py", NONE)]


# --- where it may be asked ----------------------------------------------------------------------


def test_it_has_no_verdict_on_a_rubric_without_keys() -> None:
    with pytest.raises(NoVerdict, match="reads keys alone"):
        Exact().judge(RUBRIC, answer(*GOOD).steps, ((), ()), CommitLines(lambda: TREE))


def test_a_step_has_criteria_or_a_key() -> None:
    with pytest.raises(ValueError, match="it needs no criteria"):
        RubricStep(name="trace", key=KEY, criteria=RUBRIC.steps[0].criteria)
