"""What an accusation rests on: a word and a file that are certain, or it is none."""

from __future__ import annotations

import random

import pytest

from runner.grounding.commit_files import PathIndex
from runner.grounding.extract import extract
from runner.grounding.verify import ground
from runner.records import Citation
from tests.grounding.fakes import MemoryFiles

FILES = MemoryFiles(
    {
        "src/shop.py": "\n" * 19 + "def open_shop(): ...\n" + "\n" * 60,
        "src/till.py": "\n" * 19 + "def count_till(): ...\n" + "\n" * 20,
    }
)


def only(text: str, files: MemoryFiles = FILES) -> Citation:
    [citation] = [c for c in ground(text, files).citations if c.start is not None]
    return citation


@pytest.mark.parametrize(
    "text",
    [
        "`count_till` (src/till.py:2)",
        "`count_till` is defined at src/till.py:2",
        "src/till.py:2 (`count_till`)",
        "count_till (src/till.py:2)",
        "src/till.py:2 `count_till`",
        '{"symbol": "count_till", "file": "src/till.py", "line": 2}',
        "| symbol | place |\n|---|---|\n| `count_till` | src/till.py:2 |\n",
        "src/till.py:99",
    ],
)
def test_what_is_certain_and_false_is_hallucinated(text: str) -> None:
    citation = only(text)
    assert (citation.status, citation.resolution) == ("hallucinated", "exact")


@pytest.mark.parametrize(
    "text",
    [
        # Said of the lines, and standing there.
        "`count_till` (src/shop.py:20), which is open_shop's work",
        "`open_shop` → `count_till` — src/shop.py:20 / :60",
        "| file | runs | then |\n|-|-|-|\n| src/shop.py:20 | `count_till` | `open_shop` |",
        # An object of the sentence, which the file does not define.
        "It is passed as `count_till` at src/shop.py:44.",
        "Shop wraps `count_till` (src/shop.py:44).",
        "Add a method `count_till` (src/shop.py:44).",
        # No code span, beside another name, and not the file's.
        "open_drawer.now count_till src/shop.py:44",
        # Its own line follows in the bracket.
        "`src/till.py:2` (count_till is ready :20)",
        "The `Shop<Kind>Keeper` (src/shop.py:44)",
    ],
)
def test_a_pair_that_another_one_rivals_accuses_nobody(text: str) -> None:
    assert ground(text, FILES).summary.hallucinated == 0


def test_a_member_outside_of_its_type_is_of_the_type() -> None:
    source = "package shop\n\ntype Worker struct {}\n" + "\n" * 30
    files = MemoryFiles({"w.go": source + "func (w *Worker) run() {\n" + "\tx()\n" * 20 + "}\n"})
    assert only("The `Worker` (w.go:45) plans.", files).resolution == "binding"
    assert only("The `Worker` (w.go:20) plans.", files).status == "hallucinated"


@pytest.mark.parametrize(
    "text",
    [
        "`count_till` begins near src/till.py:2",
        "`open_drawer` and `count_till` (src/till.py:2)",
    ],
)
def test_a_word_that_only_loose_glue_ties_accuses_nobody_and_earns_nothing(text: str) -> None:
    citation = only(text)
    assert (citation.status, citation.resolution) == ("unresolved", "binding")
    assert "count_till" in citation.reason
    summary = ground(text, FILES).summary
    assert (summary.total, summary.binding, summary.hallucinated) == (1, 1, 0)
    assert summary.headline_rate == summary.strict_rate == 0.0


def test_lines_that_may_be_of_another_file_accuse_nobody_and_name_both_files() -> None:
    citation = only("`src/shop.py` calls `src/till.py`. It ends there (line 77).")
    assert (citation.status, citation.path) == ("grounded", "src/shop.py")
    citation = only("`src/till.py` is tiny. `src/shop.py` uses it; `count_till` (line 2).")
    assert (citation.status, citation.resolution) == ("unresolved", "binding")
    assert (citation.path, "src/till.py" in citation.reason) == ("src/shop.py", True)


def test_an_invention_does_not_hide_behind_a_file_that_is_a_guess() -> None:
    text = "`src/till.py` is tiny. `src/shop.py` uses it; `hide_it` (line 2)."
    assert only(text).status == "hallucinated"
    assert only(text.replace("`hide_it` (line 2)", "it ends (line 999)")).status == "hallucinated"


INDEX = PathIndex(["src/app.py", "lib/text.py", "src/mod.rs", "render.tsx", "groups_controller.rb"])


def named(text: str) -> list[tuple[int | None, str | None]]:
    """The lines that a text cites, and the symbol of each."""
    return [(m.start, m.symbol) for m in extract(text, INDEX) if m.start is not None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a call names the callee, not its last argument
        ("attachRequestMeta(req, parsedUrl) at src/app.py:42", "42 attachRequestMeta"),
        ("`attachRequestMeta(req, parsedUrl)` at src/app.py:42", "42 attachRequestMeta"),
        ("- run_it(a, make_it(b_c), d_e) — src/app.py:42", "42 run_it"),
        # behind an arrow and a place, the word after
        ("In `src/app.py`, A → :2515 renderPageComponent", "2515 renderPageComponent"),
        (
            "In `src/app.py`: handleRequest → :2515 renderPage → :2600 renderErr",
            "2515 renderPage, 2600 renderErr",
        ),
        # as many names as lines, in order
        (
            "`Router::layer` vs `Router::route_layer` (`src/mod.rs:296` vs `:313`)",
            "296 Router::layer, 313 Router::route_layer",
        ),
        ("`open_it` and `close_it` (src/app.py:10, 20)", "10 open_it, 20 close_it"),
        (
            "`open_it`, `read_it` and `close_it` are at src/app.py:10, src/app.py:15 and "
            "lib/text.py:20, respectively",
            "10 open_it, 15 read_it, 20 close_it",
        ),
        ("`open_it` (src/app.py:10, 20)", "10 open_it, 20 open_it"),
        # names that stand behind their places throughout
        (
            "render.tsx:457 renderToHTMLImpl, :1622 renderToHTML",
            "457 renderToHTMLImpl, 1622 renderToHTML",
        ),
        (
            "src/app.py:10 `open_it` - src/app.py:20 `close_it` - src/app.py:30 `end_it`",
            "10 open_it, 20 close_it, 30 end_it",
        ),
        ("`open_it`: src/app.py:10, `close_it`: :20", "10 open_it, 20 close_it"),
        # what leads in is not always the thing that stands there
        ("They bypass NewPostManager: groups_controller.rb:516", "516"),
        ("Callers of NewPostManager: groups_controller.rb:516", "516"),
        ("- NewPostManager: groups_controller.rb:516", "516 NewPostManager"),
        # several places of one name
        (
            "`validate`, called at src/app.py:10, defined at lib/text.py:20",
            "10 validate, 20 validate",
        ),
        ("`use_it` is set (src/app.py:10, lib/text.py:20)", "10 use_it, 20 use_it"),
        ("it goes to `run_it` (src/app.py:10)", "10 run_it"),
        ("in a tree:\n├─ put_it/3          src/app.py:10", "10 put_it"),
        ("(src/app.py:10, `open_it`)", "10 open_it"),
        ("`src/app.py:10 renderToHTML`", "10 renderToHTML"),
        ("`src/app.py:10 returns early`", "10"),
    ],
)
def test_each_line_has_the_name_that_the_sentence_gives_it(text: str, expected: str) -> None:
    assert ", ".join(f"{line} {name or ''}".strip() for line, name in named(text)) == expected


@pytest.mark.parametrize(
    ("span", "symbol"),
    [
        ("Options", "Options"),
        ("Get", "Get"),
        ("None", "None"),
        ("Query<T>", "Query"),
        ("Map<K, Vec<V>>", "Map"),
        ("impl<S> Router<S>", "Router"),
        ("can_create?", "can_create?"),
        ("valid?", "valid?"),
        ("total=", "total="),
        ("save!", "save!"),
        ("deploy-all", "deploy-all"),
        ("impl_handler!", "impl_handler!"),
        ("~basic_buffer()", "~basic_buffer"),
        ("Buffer::operator==(const Buffer&)", "Buffer::operator=="),
        ("operator()", "operator()"),
        ("TEST_F(ShopTest, opens_early)", "opens_early"),
        ("verified?/3", "verified?"),
        ("isRequest(_:authenticatedWith:)", "isRequest"),
        ("handle(req: Req): Promise<void>", "handle"),
        ("public static List<String> makeIt(String x)", "makeIt"),
        ("std::string name(int x) const", "name"),
        ("defp load_state(a, b)", "load_state"),
        ("$LOADED_FEATURES", "LOADED_FEATURES"),
        ("return make(x)", None),
        ("await make(x)", None),
        ("true", None),
        ("self", None),
        ("a + b", None),
        ("Stock::$instance", "Stock::$instance"),
        ("Point.x", "Point.x"),
        ("<=>", "<=>"),
    ],
)
def test_every_spelling_of_a_name_is_read(span: str, symbol: str | None) -> None:
    assert named(f"`{span}` (src/app.py:10)") == [(10, symbol)]


@pytest.mark.parametrize("name", ["can_create?", "impl_handler!", "Query<T>", "make_it(a, b_c)"])
def test_a_bare_word_may_have_what_only_code_has(name: str) -> None:
    [(_, symbol)] = named(f"- {name} (src/app.py:10)")
    assert symbol is not None
    assert name.startswith(symbol)


def test_a_literal_is_a_name_only_where_the_cited_file_defines_it() -> None:
    files = MemoryFiles(
        {
            "a.py": "x = None\n" * 40,
            "b.ts": "export function GET() {}\n" + "let a = 1\n" * 40,
            "c.go": "package c\n\nfunc Get() {}\n" + "var x = 1\n" * 40,
        }
    )
    for text, symbol in (
        ("`None` (a.py:3)", None),
        ("`GET` (a.py:3)", None),
        ("`read-only` (a.py:3)", None),
        ("`==` (a.py:3)", None),
        ("`GET` (b.ts:1)", "GET"),
        ("`Get` (c.go:3)", "Get"),
    ):
        assert (only(text, files).status, only(text, files).symbol) == ("grounded", symbol)
    assert only("`GET` (b.ts:30)", files).status == "hallucinated"
    assert only("`Get` (c.go:30)", files).status == "hallucinated"


def test_a_macro_a_setter_and_a_constructor_are_found_by_what_the_file_calls_them() -> None:
    files = MemoryFiles(
        {
            "a.rs": "macro_rules! go_on { () => {} }\n" + "\n" * 20 + "fn f() { go_on!() }\n",
            "a.rb": "class Shop\n  def total=(x)\n  end\n  attr_writer :size\nend\n" + "\n" * 30,
            "a.py": "class Shop:\n    def __init__(self): ...\n" + "\n" * 20 + "Shop()\n",
        }
    )
    for text in (
        "`go_on!` (a.rs:1)",
        "`go_on!` (a.rs:22)",
        "`total=` (a.rb:2)",
        "`Shop.__init__` (a.py:23)",
    ):
        assert only(text, files).status == "grounded", text
    for text in ("`go_on!` (a.rs:12)", "`total=` (a.rb:20)", "`Shop.__init__` (a.py:12)"):
        assert only(text, files).status == "hallucinated", text


def test_both_words_that_may_be_meant_are_named() -> None:
    citation = only("`open_drawer` and `count_till` (src/till.py:2)")
    assert "open_drawer" in citation.reason
    assert "count_till" in citation.reason


def test_lines_below_no_heading_of_a_file_accuse_nobody_of_a_word_that_is_elsewhere() -> None:
    text = "All is in `src/till.py`.\n\nAn example of the tests (line 5): `count_till`."
    assert (only(text).status, only(text).resolution) == ("unresolved", "binding")
    assert only(text.replace("count_till", "count_never")).status == "hallucinated"
    assert only(text.replace("line 5", "line 555")).status == "hallucinated"


# --- shortened paths ------------------------------------------------------------------------

MODULES = MemoryFiles(
    {
        "axum/src/handler/mod.rs": "\n" * 300,
        "axum/src/routing/mod.rs": "fn route() {}\n" + "\n" * 80,
        "axum/src/mod.rs": "\n" * 300,
    }
)


@pytest.mark.parametrize(
    ("text", "path", "resolution"),
    [
        # the full path that stands last before it, then one behind it
        ("axum/src/handler/mod.rs:208, then mod.rs:217", "axum/src/handler/mod.rs", "suffix"),
        (
            "First mod.rs:217. It is axum/src/handler/mod.rs:208.",
            "axum/src/handler/mod.rs",
            "suffix",
        ),
        (
            "axum/src/handler/mod.rs:1 and axum/src/routing/mod.rs:1; then mod.rs:7",
            "axum/src/routing/mod.rs",
            "suffix",
        ),
        # one that bears the lines out
        (
            "axum/src/handler/mod.rs:1 and axum/src/routing/mod.rs:1; then mod.rs:217",
            "axum/src/handler/mod.rs",
            "suffix",
        ),
        # a tail of several, of which the answer names none that it may be
        ("mod.rs:217", "mod.rs", "ambiguous"),
        ("axum/src/routing/mod.rs:1, mod.rs:217", "mod.rs", "ambiguous"),
        ("axum/src/routing/mod.rs:1, `route` (mod.rs:44)", "mod.rs", "ambiguous"),
        ("handler/mod.rs:217", "axum/src/handler/mod.rs", "suffix"),
    ],
)
def test_a_shortened_path_means_the_file_that_the_answer_names_in_full(
    text: str, path: str, resolution: str
) -> None:
    [short] = [c for c in ground(text, MODULES).citations if c.written.count("/") < 2]
    assert (short.path, short.resolution) == (path, resolution)
    if resolution == "ambiguous":
        assert short.status == "unresolved"
    elif "handler/mod.rs:217" not in text:
        assert path in short.reason


def test_a_full_path_of_another_step_tells_which_file_is_meant() -> None:
    grounding = ground(["It is mod.rs:217.", "See axum/src/handler/mod.rs:208."], MODULES)
    assert [c.resolution for c in grounding.citations] == ["suffix", "exact"]
    assert grounding.by_step[0] == ("axum/src/handler/mod.rs",)


# --- invented owners ------------------------------------------------------------------------

OWNED = MemoryFiles(
    {
        "src/shop.py": "class Shop(Base):\n    def open_up(self): ...\n" + "\n" * 30,
        "src/till.py": "class BaseTill(Shop):\n    def shut(self): ...\n" + "\n" * 30,
        "src/base_till.py": "",
        "src/use.rs": "use crate::shop::Shop;\nfn go() { shop.open_up(); }\n",
        "README.md": "Call the Janitor.\n",
    }
)


KNOWN = "Companion prototype Object Shop shop Base BaseTill baseTill base_till myShop s self src"


@pytest.mark.parametrize("owner", KNOWN.split())
def test_an_owner_that_the_tree_knows_in_some_spelling_is_believed(owner: str) -> None:
    assert only(f"`{owner}.open_up` (src/shop.py:2)", OWNED).status == "grounded"


KIN = MemoryFiles(
    {
        "src/adapter.py": "class Adapter(Base):\n    def send(self): ...\n" + "\n" * 30,
        "src/special.py": "class Special(Adapter):\n    pass\n",
        "src/very.py": "class Very(Special):\n    pass\n",
        "src/base.py": "class Base:\n    pass\n",
        "src/other.py": "class Serializer:\n    def dumps(self): ...\n",
        "pool.go": "package p\n\nfunc (p *Pool) Put() {}\n" + "\n" * 30,
        "kept.go": "package p\n\ntype Kept struct {\n\t*Pool\n\tn int\n}\n",
        "wrap.go": "package p\n\ntype Wrap struct {\n\tpool *Pool\n}\n",
        "type.go": "package p\n\ntype Pool struct {\n\tn int\n}\n",
        "src/read.rs": "pub trait Read: Sized {\n    fn read_all(&self) {}\n}\n"
        + "\n" * 30
        + "impl<T> Shown for T {\n    fn show(&self) {}\n}\n"
        + "impl Drop for Crate {\n    fn drop_it(&self) {}\n}\n",
        "src/desk.rs": "pub struct Desk<T>(T);\nimpl<T: Fn(u8) -> Vec<T>> Read for Desk<T> {}\n",
        "src/lamp.rs": "pub struct Lamp;\npub trait Shown { fn show(&self); }\n",
        "src/held.rs": "pub struct Held;\nimpl Deref for Held {\n    type Target = Desk<u8>;\n}\n",
        "src/crate.rs": "pub struct Crate;\n",
        "src/open.rb": "class Door\n  def knock\n  end\nend\n" + "\n" * 30,
    }
)


@pytest.mark.parametrize(
    ("symbol", "place", "believed"),
    [
        ("Adapter.send", "src/adapter.py:2", True),
        ("Special.send", "src/adapter.py:2", True),
        ("Very.send", "src/adapter.py:2", True),
        ("Base.send", "src/adapter.py:2", True),
        ("Serializer.send", "src/adapter.py:2", False),
        ("Kept.Put", "pool.go:3", True),
        ("Wrap.Put", "pool.go:3", False),
        ("Desk::read_all", "src/read.rs:2", True),
        ("Held::read_all", "src/read.rs:2", True),
        ("Lamp::read_all", "src/read.rs:2", False),
        ("Lamp::show", "src/read.rs:35", True),
        ("Crate::drop_it", "src/read.rs:38", True),
        ("Lamp::drop_it", "src/read.rs:38", False),
        # Ruby opens a type anywhere.
        ("Serializer.knock", "src/open.rb:2", True),
    ],
)
def test_a_method_is_its_types_and_their_kins_alone(
    symbol: str, place: str, believed: bool
) -> None:
    citation = only(f"`{symbol}` is defined at {place}.", KIN)
    assert (citation.status == "grounded") is believed


@pytest.mark.parametrize("owner", ["Zorblax", "zorblax", "ShopBroker", "shop_broker", "Janitor"])
@pytest.mark.parametrize("sign", [".", "::", "#"])
def test_an_owner_that_nothing_in_the_tree_is_called_is_hallucinated(owner: str, sign: str) -> None:
    for place in ("src/shop.py:2", "src/use.rs:2"):
        citation = only(f"`{owner}{sign}open_up` ({place})", OWNED)
        assert citation.status == "hallucinated"
        assert f"nothing in the tree is called {owner}" in citation.reason


def test_a_module_is_a_name_only_below_folders_that_exist() -> None:
    assert only("`src.shop` (src/shop.py:2)", OWNED).status == "grounded"
    assert only("`zorblax.shop` (src/shop.py:2)", OWNED).status == "hallucinated"


SELF_NAMED = MemoryFiles(
    {
        "src/shop/cli.py": "import os\n" * 40 + "def cli(): ...\n",
        "src/shop/__init__.py": "import os\n" * 40 + "shop = 1\n",
        "src/shop/till/index.ts": "import os\n" * 40 + "const till = 1\n",
    }
)


@pytest.mark.parametrize(
    ("symbol", "place"),
    [
        ("cli", "src/shop/cli.py:1"),
        ("shop.cli", "src/shop/cli.py:1"),
        ("src.shop.cli", "src/shop/cli.py:1-3"),
        ("shop", "src/shop/__init__.py:1"),
        ("till", "src/shop/till/index.ts:1"),
    ],
)
def test_a_module_at_its_first_line_is_no_invention_and_earns_nothing(
    symbol: str, place: str
) -> None:
    citation = only(f"`{symbol}` ({place})", SELF_NAMED)
    assert (citation.status, citation.symbol, citation.weight) == ("grounded", None, 0)


@pytest.mark.parametrize(
    ("symbol", "place"),
    [
        ("cli", "src/shop/cli.py:7"),
        ("App.cli", "src/shop/cli.py:1"),
        ("cli.shop", "src/shop/__init__.py:1"),
        ("till", "src/shop/cli.py:1"),
    ],
)
def test_elsewhere_or_of_another_owner_it_is_one(symbol: str, place: str) -> None:
    assert only(f"`{symbol}` ({place})", SELF_NAMED).status != "grounded"


# --- the lenient rules hide no invention ----------------------------------------------------

NAMES = [f"handle_{n:03d}" for n in range(100)]
BIG = MemoryFiles(
    {"src/big.py": "".join(f"def {n}():\n" + "    pass\n" * 10 + "\n" for n in NAMES)}
)
LINE_OF = {name: 12 * place + 1 for place, name in enumerate(NAMES)}


def test_a_true_line_of_a_list_hides_no_invented_one() -> None:
    seed = random.Random(10)
    hidden = 0
    for name in seed.sample(NAMES, 50):
        away = [line for line in range(1, 1201) if abs(line - LINE_OF[name]) > 20]
        invented = seed.sample(away, 3)
        listed = [LINE_OF[name], *invented]
        text = f"`{name}` (src/big.py:{', '.join(map(str, listed))})"
        found = {c.start: c.status for c in ground(text, BIG).citations}
        assert found.pop(LINE_OF[name]) == "grounded"
        hidden += sum(status == "grounded" for status in found.values())
        # Which of a list's lines the name is meant for is not certain: nobody is accused.
        assert "hallucinated" not in found.values()
    assert hidden == 0


def test_a_list_of_nothing_but_inventions_is_hallucinated() -> None:
    statuses = {c.status for c in ground("`handle_000` (src/big.py:700, 900)", BIG).citations}
    assert statuses == {"hallucinated"}


@pytest.mark.parametrize("invented", [1, 5, 8, 12, 15])
def test_numbers_in_brackets_that_are_invented_show_beside_a_few_that_are_true(
    invented: int,
) -> None:
    seed = random.Random(invented)
    names = seed.sample(NAMES[1:], 20)  # `(1)` would be no line
    lines = [LINE_OF[name] for name in names]
    for place in range(invented):
        lines[place] = (lines[place] + seed.randint(100, 900)) % 1200 + 1
    pairs = zip(names, lines, strict=True)
    text = "In `src/big.py`: " + ", ".join(f"`{name}` ({line})" for name, line in pairs) + "."
    summary = ground(text, BIG).summary
    assert summary.total >= 19  # one may look like a status code
    assert summary.grounded <= 20 - invented


def test_a_number_that_the_text_never_calls_a_line_accuses_nobody() -> None:
    citation = only("`src/till.py` goes on (:9412).")
    assert (citation.status, citation.resolution) == ("unresolved", "binding")
    port = ground("`src/till.py` is served (:8080).", FILES)
    assert [citation.start for citation in port.citations] == [None]
    assert only("`src/till.py` ends there (line 8080).").status == "hallucinated"


def test_a_member_of_a_type_without_a_name_is_found_under_the_type_it_implements() -> None:
    source = (
        "class Shop {\n  abstract static class Till {\n    abstract void count(int x);\n  }\n"
        + "\n" * 20
        + "  Till make() {\n    return new Till() {\n      void count(int x) {}\n    };\n  }\n}\n"
    )
    files = MemoryFiles({"Shop.java": source})
    assert only("`Till.count` (Shop.java:27)", files).status == "grounded"
    assert only("`Till.count` (Shop.java:14)", files).status == "hallucinated"


# --- notes, fences, frames, keys and columns --------------------------------------------------

SHELF = MemoryFiles(
    {
        "src/x.py": "".join(f"def f{n:02d}():\n    return {n}\n" + "\n" * 8 for n in range(60)),
        "src/env.js": "// x\n" * 10
        + 'const a = process.env["SSL_CERT_FILE"]\n'
        + "// y\n" * 20
        + "if (e.code === 'ETIMEDOUT') on(\"http.disconnect\")\n"
        + "// z\n" * 30,
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "| What | Place |\n|---|---|\n| `f07` | src/x.py:11 |",
        "|  |  |\n|---|---|\n| `f07` | src/x.py:11 |",
        "| Concern | File | Line |\n|---|---|---|\n| `f07` | src/x.py | 11 |",
        "It is `f07`[^1].\n\n[^1]: src/x.py:11",
        "It is `f07` [1].\n\n[1] src/x.py:11",
        "```python\n# src/x.py:11\ndef f07():\n    pass\n```",
        '```\n  File "src/x.py", line 11, in f07\n```',
        "`f07` generator (src/x.py:11)",
        '{"f07": "src/x.py:11"}',
        "- `f07`, src/x.py:11",
    ],
)
def test_a_name_is_bound_wherever_it_is_given_and_a_wrong_line_fails(text: str) -> None:
    for line, status in (("11", "wrong"), ("71", "grounded")):
        citations = ground(text.replace("11", line), SHELF).citations
        # A note's own line cites the place once more.
        [citation] = [c for c in citations if c.start is not None and c.symbol is not None]
        assert citation.symbol == "f07"
        assert (citation.status == "grounded") == (status == "grounded"), citation.reason


@pytest.mark.parametrize("mark", ["[x]", "[ ]", "[1]", "[a-1]"])
def test_an_item_with_a_mark_of_its_own_cites_its_place(mark: str) -> None:
    listed = "\n".join(f"- {mark} src/x.py:{line}" for line in (11, 22))

    assert [it.start for it in ground(listed, SHELF).citations] == [11, 22]


@pytest.mark.parametrize("words", ["same file, L22", "ibid., line 22"])
def test_the_same_file_is_the_one_named_last(words: str) -> None:
    *_, citation = ground(f"`f01` (src/x.py:11), `f07` ({words})", SHELF).citations
    assert (citation.path, citation.start, citation.status) == ("src/x.py", 22, "hallucinated")


@pytest.mark.parametrize(
    ("name", "line"),
    [("SSL_CERT_FILE", 11), ("ETIMEDOUT", 32), ("http.disconnect", 32), ("etimedout", 32)],
)
def test_a_name_that_is_a_string_holds_at_the_string(name: str, line: int) -> None:
    citation = only(f"`{name}` (src/env.js:{line})", SHELF)
    assert (citation.status, citation.held_by) == ("grounded", "literal")
    assert citation.weight > 0.7
    assert only(f"`{name}` (src/env.js:60)", SHELF).status != "grounded"


@pytest.mark.parametrize(
    "text",
    [
        "## src/x.py\n\n- stops@:413",
        "## src/x.py\n\nhandlers map seeded@:28",
        "`f01` catches the error and runs `f07` — src/x.py:11",
        "`f30` (src/x.py:200-520)",
    ],
)
def test_a_word_of_english_an_object_and_a_wide_range_accuse_nobody(text: str) -> None:
    assert all(c.status != "hallucinated" for c in ground(text, SHELF).citations)


@pytest.mark.parametrize(
    "text",
    [
        "at java.base/java.lang.Thread.run(Thread.java:840)",
        "\tat org.acme.web.Servlet.service(Servlet.java:897)",
        "```\n   4: core::panicking::panic\n    at /rustc/abc/library/core/src/p.rs:64:5\n```",
    ],
)
def test_a_frame_of_another_tree_is_no_citation(text: str) -> None:
    assert [c for c in ground(text, SHELF).citations if c.start is not None] == []


@pytest.mark.parametrize("target", ["blob/main/src/x.py#L11", "../src/x.py#L11", "/src/x.py#L11"])
def test_a_link_from_elsewhere_in_the_repository_resolves(target: str) -> None:
    assert only(f"[it]({target})", SHELF).status == "grounded"


def test_a_part_of_a_name_behind_a_slash_is_no_name() -> None:
    text = "In `src/x.py`: `f01` (line 1) / _debug_mode (line 31) / _error (line 41)."
    assert [c.symbol for c in ground(text, SHELF).citations if c.start in (31, 41)] == [None, None]


def test_what_a_search_printed_says_nothing_of_the_next_place() -> None:
    source = "def open_shop(door): ...\ndef count_till(coins): ...\ndef lock_up(key): ...\n"
    files = MemoryFiles({"src/shop.py": source})
    printed = "\n".join(
        f"src/shop.py:{place}:{line}" for place, line in enumerate(source.splitlines(), 1)
    )
    assert [one.mute for one in ground(printed, files).citations] == [True] * 3
