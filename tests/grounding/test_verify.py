"""From a text and a commit to statuses and rates; and the cheats that must lose."""

from __future__ import annotations

import gc
import json
import os
import random
import re
import subprocess
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import git
import pytest

from runner.grounding.commit_files import GitFiles
from runner.grounding.mentions import MOST_MENTIONS
from runner.grounding.pointing import WIDE_LINES
from runner.grounding.verify import (
    Grounding,
    cited_files,
    ground,
    must_cite_recall,
    step_citations,
)
from runner.records import Citation, MustCite
from runner.report.citation_text import ground_file
from runner.support.errors import SourceError
from tests.grounding.fakes import MemoryFiles

BODY = "\n".join(f"        step_{n} = {n}" for n in range(40))
SHOP = f'''"""Shops; open_shop is told of here."""

import os


class Shop(Base):
    """A shop."""

    def open_shop(self):
{BODY}
        return self.close_shop()

    def close_shop(self):
        # open_shop is a comment here
        return "open_shop"


def helper():
    return Shop().open_shop()
'''
FILES = MemoryFiles(
    {
        "src/shop.py": SHOP,
        "src/a/text.py": "x = 1\n",
        "src/b/text.py": "y = 2\n",
        "notes.md": "hello\n" * 20 + "wanted\n",
    }
)
OPEN, STEP, CLOSE, LAST = 9, 10, 52, SHOP.count("\n")


def only(text: str, files: MemoryFiles = FILES, roots: Sequence[str] = ()) -> Citation:
    [citation] = [c for c in ground(text, files, roots=roots).citations if c.start is not None]
    return citation


def test_a_citation_of_a_definition_is_grounded_and_says_where_it_is() -> None:
    citation = only(f"`Shop.open_shop` (src/shop.py:{OPEN})")
    assert (citation.status, citation.resolution, citation.held_by, citation.distance) == (
        "grounded",
        "exact",
        "definition",
        0,
    )
    assert citation.definition_lines == (OPEN,)


def test_all_three_distances_are_recorded() -> None:
    citation = only(f"`open_shop` (src/shop.py:{OPEN + 20})")
    assert (citation.status, citation.held_by) == ("grounded", "span")
    assert (citation.definition_distance, citation.use_distance, citation.span_distance) == (
        20,
        LAST - OPEN - 20,
        0,
    )


def test_a_citation_of_a_use_is_grounded() -> None:
    citation = only(f"`open_shop` (src/shop.py:{LAST})")
    assert (citation.status, citation.held_by) == ("grounded", "use")


def test_a_comment_and_a_string_are_no_uses() -> None:
    text = "x = 1\n" * 30 + "# wanted\n'is wanted'\n" + "x = 1\n" * 30 + "wanted()\n"
    citation = only("`wanted` (a.py:31)", MemoryFiles({"a.py": text}))
    # It is not grounded, and no invention: the word stands there.
    assert (citation.status, citation.resolution) == ("unresolved", "binding")
    assert "a comment or a string" in citation.reason
    assert only("`wanted` (a.py:15)", MemoryFiles({"a.py": text})).status == "hallucinated"


@pytest.mark.parametrize("line", [0, LAST + 1, 9_999_999])
def test_a_line_that_does_not_exist_is_hallucinated(line: int) -> None:
    assert only(f"src/shop.py:{line}").status == "hallucinated"
    assert only(f"src/shop.py:{LAST}").status == "grounded"


def test_a_range_past_the_end_is_hallucinated() -> None:
    assert only(f"src/shop.py:3-{LAST + 2}").status == "hallucinated"
    # Behind the last line break some count one more.
    assert only(f"src/shop.py:3-{LAST + 1}").status == "unresolved"


def test_an_empty_file_has_no_line_to_cite() -> None:
    assert only("a.py:1", MemoryFiles({"a.py": ""})).status == "hallucinated"


def test_a_form_feed_is_no_line_end() -> None:
    assert only("a.py:2", MemoryFiles({"a.py": "a\x0cb\n"})).status == "hallucinated"


def test_an_invented_symbol_is_hallucinated() -> None:
    citation = only(f"`reopen_shop` (src/shop.py:{OPEN})")
    assert (citation.status, citation.definition_lines, citation.distance) == (
        "hallucinated",
        (),
        None,
    )


def test_a_symbol_of_another_place_is_hallucinated_and_the_place_is_told() -> None:
    citation = only("`close_shop` (src/shop.py:20)")
    assert (citation.status, citation.definition_lines) == ("hallucinated", (CLOSE,))
    assert str(CLOSE) in citation.reason


def test_another_classes_method_of_the_same_name_is_hallucinated() -> None:
    files = MemoryFiles(
        {
            "a.py": "class A:\n    def run(self): ...\n"
            + "\n" * 20
            + "class B:\n    def run(self): ...\n"
        }
    )
    assert only("`B.run` (a.py:2)", files).status == "hallucinated"
    assert only("`B.run` (a.py:24)", files).status == "grounded"


def test_six_lines_away_is_too_far_and_five_is_not() -> None:
    files = MemoryFiles({"a.py": "\n" * 20 + "LIMIT = 1\n" + "\n" * 20})
    statuses = [only(f"`LIMIT` (a.py:{line})", files).status for line in (15, 16, 26, 27)]
    assert statuses == ["hallucinated", "grounded", "grounded", "hallucinated"]
    assert only("`LIMIT` (a.py:1-16)", files).distance == 5


@pytest.mark.parametrize(
    ("written", "resolution", "status"),
    [
        ("src/shop.py:3", "exact", "grounded"),
        ("shop.py:3", "suffix", "grounded"),
        ("hop.py:3", "missing", "unresolved"),
        ("text.py:1", "ambiguous", "unresolved"),
        ("a/text.py:1", "suffix", "grounded"),
        ("src/Shop.py:3", "missing", "unresolved"),
        ("other/src/shop.py:3", "missing", "unresolved"),
        ("/srv/elsewhere/src/shop.py:3", "missing", "unresolved"),
        ("/workspace/src/shop.py:3", "exact", "grounded"),
        ("/my/root/src/shop.py:3", "exact", "grounded"),
        ("https://github.com/me/it/blob/main/src/shop.py#L3", "other_commit", "unresolved"),
    ],
)
def test_a_path_resolves_to_exactly_one_file_or_says_why_not(
    written: str, resolution: str, status: str
) -> None:
    citation = only(written, roots=["/my/root/"])
    assert (citation.resolution, citation.status) == (resolution, status)


def test_a_link_to_the_commit_itself_is_grounded() -> None:
    for ref in (FILES.commit, FILES.commit[:8]):
        assert only(f"https://github.com/me/it/blob/{ref}/src/shop.py#L3").status == "grounded"


def test_a_citation_counts_once_whatever_its_spelling() -> None:
    at = f"src/shop.py:{OPEN}"
    text = (
        f"{at}, again `shop.py:{OPEN}`.\n\n"
        f"`open_shop` ({at})\n\n`Shop.open_shop` is in /workspace/{at}."
    )
    grounding = ground(text, FILES)
    assert grounding.summary.total == 1
    assert grounding.citations[0].symbol == "open_shop"


def test_an_invention_does_not_hide_behind_a_truth_at_the_same_lines() -> None:
    grounding = ground(
        f"`open_shop` (src/shop.py:{OPEN}). `invented_thing` (src/shop.py:{OPEN}).", FILES
    )
    assert [c.status for c in grounding.citations] == ["grounded", "hallucinated"]


def test_a_file_without_a_line_is_listed_and_not_counted() -> None:
    grounding = ground("See `src/shop.py` and `src/gone.py`.", FILES)
    assert [(c.path, c.start, c.end) for c in grounding.citations] == [
        ("src/shop.py", None, None),
        ("src/gone.py", None, None),
    ]
    assert (grounding.summary.total, grounding.summary.headline_rate) == (0, None)


def test_the_rates_are_printed_with_their_parts() -> None:
    text = (
        "src/shop.py:1, shop.py:2, text.py:1, gone/away.py:1, src/shop.py:9999 "
        f"and `open_shop` (src/shop.py:{OPEN})"
    )
    summary = ground(text, FILES).summary
    assert (summary.total, summary.grounded, summary.unresolved, summary.hallucinated) == (
        6,
        3,
        2,
        1,
    )
    assert (summary.exact, summary.suffix, summary.ambiguous, summary.missing) == (3, 1, 1, 1)
    assert (summary.strict_rate, summary.headline_rate, summary.definition_rate) == (
        2 / 6,
        3 / 6,
        1.0,
    )


def test_the_chance_rate_is_what_random_lines_score() -> None:
    text = f"`close_shop` (src/shop.py:{CLOSE})"
    exact = ground(text, FILES).summary.chance_rate
    held = [
        only(f"`close_shop` (src/shop.py:{line})").status == "grounded"
        for line in range(1, LAST + 1)
    ]
    assert exact == pytest.approx(sum(held) / len(held))
    ranges = [
        only(f"`close_shop` (src/shop.py:{line}-{line + 6})").status == "grounded"
        for line in range(1, LAST - 5)
    ]
    assert ground(
        f"`close_shop` (src/shop.py:{CLOSE}-{CLOSE + 6})", FILES
    ).summary.chance_rate == pytest.approx(sum(ranges) / len(ranges))


class _Vanished(MemoryFiles):
    """A tree that lists a file and cannot read it."""

    def read(self, path: str) -> bytes:
        raise KeyError(path)


@pytest.mark.parametrize("on", [True, False])
def test_grounding_leaves_the_garbage_collector_as_it_found_it(on: bool) -> None:
    was_on = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        ground("src/shop.py:3", FILES)
        assert gc.isenabled() is on
        with pytest.raises(KeyError):
            ground("src/shop.py:3", _Vanished({"src/shop.py": SHOP}))
        assert gc.isenabled() is on
    finally:
        (gc.enable if was_on else gc.disable)()


def test_no_citations_have_no_rate() -> None:
    assert ground("", FILES).summary.headline_rate is None


def test_a_range_over_everything_holds_no_symbol_and_earns_no_recall() -> None:
    files = MemoryFiles({"a.py": "\n" * 1000 + "LIMIT = 1\n" + "\n" * 1000})
    limit = only("`LIMIT` (a.py:1-2000)", files)
    # It is there, and pointing at everything points at nothing.
    assert (limit.status, limit.resolution) == ("unresolved", "binding")
    assert only("`LIMIT` (a.py:1-900)", files).status == "hallucinated"
    must = [MustCite(path="a.py", line=1001)]
    assert must_cite_recall(ground("a.py:1-2000", files).citations, must) == (False,)
    assert must_cite_recall(ground("a.py:960-1010", files).citations, must) == (1.0,)
    # The more else a range points at, the less it shows.
    widest = ground(f"a.py:{1001 - WIDE_LINES + 1}-1001", files).citations
    assert must_cite_recall(widest, must) == (0.24,)


def test_a_citation_past_the_end_earns_no_recall() -> None:
    must = [MustCite(path="src/shop.py", line=LAST)]
    assert must_cite_recall(ground(f"src/shop.py:{LAST + 1}", FILES).citations, must) == (False,)
    assert must_cite_recall(ground(f"shop.py:{LAST - 5}", FILES).citations, must) == (True,)
    assert must_cite_recall(
        ground("src/shop.py:10-12", FILES).citations,
        [MustCite(path="src/shop.py", line=17, end=30)],
    ) == (True,)


def test_lines_without_a_path_go_to_the_file_that_bears_them_out() -> None:
    files = MemoryFiles({"src/shop.py": SHOP, "src/tiny.py": "x = 1\n"})
    text = (
        "`Shop` lives in `src/shop.py`. It is used by `src/tiny.py`. "
        f"Closing is `close_shop` (line {CLOSE})."
    )
    assert only(text, files).path == "src/shop.py"
    assert only(text.replace("close_shop", "clothe_shop"), files).status == "hallucinated"


def test_numbers_in_brackets_are_lines_only_where_most_of_them_hold() -> None:
    named = ground(
        f"In `src/shop.py`: `open_shop` ({STEP}), `close_shop` ({CLOSE}), `helper` ({LAST - 1}).",
        FILES,
    )
    assert [c.start for c in named.citations] == [STEP, CLOSE, LAST - 1]
    assert (
        ground(
            "In `src/shop.py`: `reopen_shop` (33), `close_shop` (12), `helper` (27).", FILES
        ).summary.total
        == 0
    )


def test_a_degraded_parse_falls_back_to_text_and_says_so() -> None:
    files = MemoryFiles({"a.c": "int a;\n" * 30 + "DEFINE_IT(wanted, {{{ }\n" + "int b;\n" * 3})
    citation = only("`wanted` (a.c:31)", files)
    assert citation.status == "grounded"
    assert citation.held_by == "text" or "degraded" in citation.reason


def test_a_file_without_a_grammar_is_searched_as_text_and_says_so() -> None:
    near, far = only("`wanted` (notes.md:18)"), only("`wanted` (notes.md:3)")
    assert (near.status, near.held_by, far.status) == ("grounded", "text", "hallucinated")
    assert "no grammar" in near.reason
    assert "no grammar" in far.reason


def test_several_steps_are_one_answer_and_files_count_per_step() -> None:
    grounding = ground(
        [f"src/shop.py:{OPEN} and a/text.py:1", f"src/shop.py:{OPEN} and `notes.md`"], FILES
    )
    assert grounding.summary.total == 2
    assert cited_files(grounding) == (2, 2)


def test_an_answer_that_is_not_read_to_its_end_says_so() -> None:
    flood = json.dumps({"src/shop.py": [1] * (MOST_MENTIONS + 1)})
    assert ground(flood, FILES).summary.cut_at == MOST_MENTIONS
    assert ground("src/shop.py:1", FILES).summary.cut_at is None


def test_inventions_behind_more_pieces_than_are_read_do_not_go_unsaid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("runner.grounding.extract.MOST_PIECES", 3)
    honest, invented = f"- src/shop.py:{OPEN}\n", f"- `Zork` (src/shop.py:{OPEN})\n"
    summary = ground(honest * 3 + invented, FILES).summary
    assert (summary.total, summary.hallucinated, summary.cut_at) == (1, 0, 3)
    assert ground(honest * 2 + invented, FILES).summary.cut_at is None


def test_each_step_has_the_citations_that_it_makes_by_itself() -> None:
    bare = f"It is at src/shop.py:{OPEN}, and src/shop.py:{LAST + 1} is past the end."
    texts = [bare, f"`open_shop` (src/shop.py:{OPEN}) and `Zork` (shop.py:{OPEN}).", ""]
    alone = tuple(ground(text, FILES).citations for text in texts)
    assert step_citations(ground(texts, FILES)) == alone
    assert step_citations(ground(bare, FILES)) == step_citations(ground([bare], FILES)) == alone[:1]


def test_a_second_run_is_answered_from_the_cache_without_reading_a_file(tmp_path: Path) -> None:
    files = MemoryFiles({"src/shop.py": SHOP})
    text = f"`open_shop` (src/shop.py:{OPEN})"
    first = ground(text, files, cache_dir=tmp_path)
    reads = files.reads
    assert ground(text, files, cache_dir=tmp_path) == first
    assert files.reads == reads
    for path in (p for p in tmp_path.rglob("*") if p.is_file()):
        path.write_bytes(b"damaged")
    assert ground(text, files, cache_dir=tmp_path) == first
    changed = MemoryFiles({"src/shop.py": "x = 1\n" * 20})
    assert ground(text, changed, cache_dir=tmp_path) != first


def test_a_spray_of_every_line_scores_no_better_than_chance() -> None:
    spray = "\n".join(f"- `close_shop` src/shop.py:{line}" for line in range(1, LAST + 1))
    summary = ground(spray, FILES).summary
    assert summary.headline_rate is not None
    assert summary.chance_rate is not None
    assert summary.headline_rate == pytest.approx(summary.chance_rate)
    assert summary.headline_rate < 0.4


# --- a real repository ----------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str]:
    root = tmp_path / "repo"
    repo = git.Repo.init(root)
    (root / "src").mkdir()
    (root / "src" / "shop.py").write_text(SHOP)
    (root / "naïve name.py").write_text("x = 1\n")
    (root / "link.py").symlink_to("src/shop.py")
    (root / "broken.py").symlink_to("nowhere.py")
    repo.git.add(A=True)
    repo.git.execute(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"])
    return root, repo.head.commit.hexsha


def test_git_files_are_read_at_the_commit_and_a_symlink_is_what_it_points_to(
    repository: tuple[Path, str],
) -> None:
    root, sha = repository
    (root / "src" / "shop.py").write_text("changed since\n")
    with GitFiles(root, sha[:10]) as files:
        assert files.commit == sha
        assert files.paths() == {"src/shop.py", "naïve name.py", "link.py"}
        assert files.read("link.py") == files.read("src/shop.py") == SHOP.encode()
        assert re.fullmatch("[0-9a-f]{40}", files.blob_sha("src/shop.py"))
        with pytest.raises(KeyError):
            files.read("gone.py")


@pytest.mark.parametrize("commit", ["0" * 40, "no-such", "--help", ""])
def test_a_commit_that_is_not_there_is_said_with_a_hint(
    repository: tuple[Path, str], commit: str
) -> None:
    with pytest.raises(SourceError, match=r"(?s)no commit.*hint: "):
        GitFiles(repository[0], commit)


def test_a_folder_that_is_no_repository_is_said_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"(?s)not a git repository\nhint: "):
        GitFiles(tmp_path / "none", "0" * 40)


def test_the_json_object_has_exactly_the_promised_keys(
    repository: tuple[Path, str], tmp_path: Path
) -> None:
    root, sha = repository
    answer = tmp_path / "answer.md"
    answer.write_text(f"`Shop.open_shop` (src/shop.py:{OPEN}) and `link.py`")
    with GitFiles(root, sha) as files:
        found, grounding = ground_file(answer, files)
    assert isinstance(grounding, Grounding)
    assert json.loads(json.dumps(found)) == {
        "file": str(answer),
        "commit": sha,
        "summary": {
            "total": 1,
            "grounded": 1,
            "unresolved": 0,
            "hallucinated": 0,
            "weighted_rate": 1.0,
            "strict_rate": 1.0,
            "headline_rate": 1.0,
            "chance_rate": pytest.approx(53 / LAST, abs=0.2),
            "named_rate": 1.0,
            "weak": 0,
            "shifted": [
                {  # in the body still
                    "lines": 20,
                    "total_weight": pytest.approx(1 - 53 / LAST),
                    "weighted_rate": 1.0,
                    "headline_rate": 1.0,
                },
                {  # the file's end, which uses it
                    "lines": 200,
                    "total_weight": pytest.approx(1 - 17 / LAST),
                    "weighted_rate": 1.0,
                    "headline_rate": 1.0,
                },
            ],
        },
        "citations": [
            {
                "written": f"src/shop.py:{OPEN}",
                "path": "src/shop.py",
                "start": OPEN,
                "end": OPEN,
                "symbol": "Shop.open_shop",
                "resolution": "exact",
                "status": "grounded",
                "reason": "Shop.open_shop: its definition is here",
                "held_by": "definition",
                "definition_lines": [OPEN],
                "distance": 0,
                "weight": 1 - 11 / LAST,
                "weak": False,
            },
            {
                "written": "link.py",
                "path": "link.py",
                "start": None,
                "end": None,
                "symbol": None,
                "resolution": "exact",
                "status": "grounded",
                "reason": "the file exists; no line is cited",
                "held_by": None,
                "definition_lines": [],
                "distance": None,
                "weight": 0.0,
                "weak": False,
            },
        ],
    }


# --- mutations: what is honest passes, what is changed shows --------------------------------


def test_mutated_citations_are_caught() -> None:
    functions = {f"handle_{n:03d}": 12 * n + 1 for n in range(100)}
    source = "".join(f"def {name}():\n" + "    pass\n" * 10 + "\n" for name in functions)
    files = MemoryFiles({"src/big.py": source})
    honest = [(name, line) for name, line in functions.items() if line < 1100]

    def rate(pairs: Sequence[tuple[str, int]], path: str = "src/big.py") -> float:
        grounding = ground("\n".join(f"- `{name}` ({path}:{line})" for name, line in pairs), files)
        assert grounding.summary.total == len(pairs)
        return grounding.summary.grounded / len(pairs)

    seed = random.Random(1)
    assert rate(honest) == 1.0
    assert rate([(name, line + 50) for name, line in honest]) == 0.0
    assert rate([(name + "_x", line) for name, line in honest]) == 0.0
    assert rate([(name, line + 9000) for name, line in honest]) == 0.0
    assert rate(honest, path="src/bug.py") == 0.0
    assert rate([(name, seed.randint(1, 1200)) for name, _ in honest]) < 0.1


# --- what an unresolved path weighs -------------------------------------------------------------

TWINS = MemoryFiles({f"src/{name}.py": SHOP for name in ("a/shop", "b/shop", "till")})


def test_shortened_paths_of_bare_lines_move_the_weighted_rate_no_more_than_whole_ones() -> None:
    named = f"`open_shop` (src/till.py:{OPEN}). "  # src/a/shop.py would say which shop.py is meant
    bare = " ".join(f"See shop.py:{line}." for line in range(20, 30))
    summary = ground(named + bare, TWINS).summary
    assert summary.ambiguous == 10
    assert summary.weighted_rate == 1.0


def test_a_name_at_an_ambiguous_path_weighs_what_it_would_in_the_files_it_may_mean() -> None:
    citation = only(f"`open_shop` (shop.py:{OPEN})", TWINS)
    whole = only(f"`open_shop` (src/a/shop.py:{OPEN + 30})", TWINS)
    assert citation.resolution == "ambiguous"
    assert 0 < citation.weight <= whole.weight


@pytest.mark.parametrize("place", ["nowhere.py:3", "shop.py:9999"])
def test_an_invented_path_or_line_weighs_in_full(place: str) -> None:
    assert only(f"see {place}", TWINS).weight == 1.0


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_files_of_odd_names_links_encodings_and_objects_are_read(
    tmp_path: Path, object_format: str
) -> None:
    root = tmp_path / "odd"
    identity = {"GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(tmp_path)}
    commands = (
        ("init", "-q", f"--object-format={object_format}", str(root)),
        ("-C", str(root), "add", "-A"),
        ("-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"),
    )
    subprocess.run(["git", *commands[0]], check=True, env={**os.environ, **identity})
    (root / "real").mkdir()
    for name in ("-dash.py", "real/😀.py", unicodedata.normalize("NFD", "é.py"), "real/r.py"):
        (root / name).write_text("def made_here(): ...\n")
    (root / "u.py").write_bytes("def made_here(): ...\n".encode("utf-16"))
    (root / "linked").symlink_to("real")
    for command in commands[1:]:
        subprocess.run(["git", *command], check=True, env={**os.environ, **identity})
    names = ("-dash.py", "real/😀.py", unicodedata.normalize("NFC", "é.py"), "linked/r.py", "u.py")
    text = "\n\n".join(f"`made_here` ({name}:1)" for name in names)
    with GitFiles(root, "HEAD") as files:
        citations = ground(text, files).citations
    assert [(c.symbol, c.status) for c in citations] == [("made_here", "grounded")] * len(names)


ERRORS = """class BadRequestError < Error
  def initialize(shop)
    @connection = shop
    @made = true
    @lines = 0
    @more = 0
  end

  def self.saved_by(user)
    where(user: user)
  end

  def saved?
    true
  end

  def unrelated
    0
  end
end
"""
MACRO = """trait Handler {
    fn call(self);
}

struct Other;

macro_rules! impl_handler {
    ($ty:ident) => {
        impl Handler for $ty {
            fn call(self) {}
        }
    };
}
"""
RUBY = MemoryFiles(
    {"lib/error.rb": ERRORS, "lib/ribbon.rb": "x = 1\n" * 9, "bin/jobs": "x\n", "src/m.rs": MACRO}
)


@pytest.mark.parametrize(
    "right",
    [
        "`BadRequest` (lib/error.rb:1)",
        "It posts via `Connection` (`lib/error.rb:3`).",
        "`LINES` (lib/error.rb:5)",
        "`BadRequestError.new` — `lib/error.rb:2`",
        "Request lib/error.rb:1 (saved_by lib/error.rb:9, saved? lib/error.rb:13)",
        "`Handler::call` (src/m.rs:10)",
        "Errors. `lib/error.rb:1` (saved_by `:9`, saved? `:13`)",
        "- `lib/ribbon.rb:2` and, of the other file, `saved?` `:13`.",
        "| Channel | Where | Also |\n|---|---|---|\n| Error | lib/error.rb:1 | `saved_by:9` |",
        '{"jobs": [{"file": "lib/error.rb", "line": 13}]}',
        '{"found": [{"type": "base_class", "name": "Error", "file": "lib/error.rb:1"}]}',
    ],
)
def test_a_right_place_is_not_accused_for_how_its_name_is_written(right: str) -> None:
    citations = ground(right, RUBY).citations
    assert [one.reason for one in citations if one.status == "hallucinated"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        "`saved_by` (lib/error.rb:18)",
        "`BadGateway` (lib/error.rb:1)",
        "`Bad` (lib/error.rb:18)",
        "`BadRequestError#unrelated` (lib/error.rb:2)",
    ],
)
def test_a_wrong_line_or_an_invented_word_is_accused_still(wrong: str) -> None:
    assert only(wrong, RUBY).status == "hallucinated"
