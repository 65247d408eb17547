"""The repository that a server can read: by the languages, and the project files, it speaks of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runner.authoring.onboarding.installed import Installed
from runner.authoring.onboarding.onboarding_state import Steps
from runner.authoring.onboarding.start_attempt import Attempt
from runner.catalog.catalog import APART

_SAID = {
    "python": r"python|django|fastapi|pytest",
    "typescript": r"typescript|javascript|tsx?|jsx|node\.?js|ecmascript|tsconfig",
    "rust": r"rust|cargo",
    "c": r"c/c\+\+|c\+\+|clang|cmake",
    "go": r"golang|gopls|go (?:code|modules?|projects?|packages?|source|files?|ast)",
    "java": r"java|maven|gradle|spring boot",
    "kotlin": r"kotlin",
    "c#": r"c#|csharp|\.net|roslyn|dotnet",
    "php": r"php|laravel|composer",
    "ruby": r"ruby|rails",
    "swift": r"swift|xcode",
    "terraform": r"terraform",
    "solidity": r"solidity",
}
"""Language -> how a README calls it; `typescript` is a repository's that has JavaScript too."""
_WORDS = {
    name: re.compile(rf"(?<![\w.#+-]){said}(?![\w#+])", re.IGNORECASE)
    for name, said in ((name, f"(?:{said})") for name, said in _SAID.items())
}
_MADE_OF = re.compile(
    r"\b(?:written|built|implemented|powered|developed|coded|made|runs?|running) (?:in|with|by|on) "
    r"[\w.#+/ ]{0,12}"
    r"|\b[\w#+.]+ (?:mcp )?(?:implementation|sdk|runtime|server|package|client|library|version)\b"
    r"|\b[\w#+.]+[ -](?:based|powered|native)\b|\bmodel context protocol\b|```\w*",
    re.IGNORECASE,
)
"""What a server is made of, which is not what it reads."""
_FILES = {
    "package.json": "typescript",
    "tsconfig.json": "typescript",
    "Cargo.toml": "rust",
    "pyproject.toml": "python",
    "requirements.txt": "python",
}
_MENTIONS = 3
_TIMES = 2
"""How much oftener than the tried one a language must be named."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A language that a server seems to need, and by what that is known."""

    language: str
    why: str


def kind_at_once(name: str, title: str, tried: str) -> Kind | None:
    """What its own name or title says that it reads; None if that is what is tried, or nothing."""
    said = _said(f"{re.sub(r'[-_/@]', ' ', name)}\n{title}")
    if not said or _known(tried) in said:
        return None
    language = said.most_common(1)[0][0]
    return Kind(language=language, why=f"it says that it reads {_shown(language)}")


def kind_by_failing(texts: Iterable[str], lacked: Iterable[str], tried: str) -> Kind | None:
    """After it showed nothing: what it asked for, or what its README and its tools name most.

    `lacked`: files that its complaints name and that the tried repository has not.
    """
    for file in lacked:
        language = _FILES.get(file, "")
        if language and language != _known(tried):
            return Kind(language=language, why=f"it asks for {file}")
    said = _said("\n".join(texts))
    for language, count in said.most_common(1):
        often = count >= _MENTIONS and count >= _TIMES * said[_known(tried)]
        if language != _known(tried) and often:
            return Kind(language=language, why=f"it speaks of {_shown(language)}")
    return None


def other_kind(tried: str) -> Kind:
    """For one that starts, and shows nothing."""
    language = "python" if _known(tried) == "typescript" else "typescript"
    return Kind(language=language, why=f"it shows nothing of one in {_shown(tried)}")


def fitting(kind: Kind, scenarios: Mapping[str, str]) -> str:
    """The first scenario in that language; empty if none is. `scenarios`: id -> language."""
    return next((name for name, spoken in scenarios.items() if _known(spoken) == kind.language), "")


def choose_at_once(steps: Steps, installed: Installed) -> None:
    """Another repository than the usual one, for a server whose name says what it reads."""
    if steps.chosen:
        kind = kind_at_once(installed.name, installed.title, _tried(steps))
        _choose(steps, kind)


def choose_by_failing(steps: Steps, installed: Installed, attempt: Attempt) -> bool:
    """Is there another repository that fits what it asked for in vain? It is chosen then."""
    if not steps.chosen:
        return False
    if _choose(steps, kind_of_failed(steps, installed, attempt)):
        return True
    # It may look for what this repository has none of: todos, components, a linter's configuration.
    return attempt.search.calls > 0 and _choose(steps, other_kind(_tried(steps)))


def kind_of_failed(steps: Steps, installed: Installed, attempt: Attempt) -> Kind | None:
    """What it seems to need that the tried repository is not; None if nothing says so."""
    texts = [installed.readme, *(tool.description or "" for tool in attempt.tools)]
    complaints = [attempt.said, *attempt.search.errors_of.values()]
    lacked = files_lacked(complaints, steps.checkout.files(steps.loaded).paths())
    return kind_by_failing(texts, lacked, _tried(steps))


def _choose(steps: Steps, kind: Kind | None) -> bool:
    if kind is None:
        return False
    sound = steps.checkout.catalog.scenarios.sound().items()
    known = {name: one.scenario.language for name, one in sound if one.suite not in APART}
    scenario = fitting(kind, known)
    if scenario:
        steps.choose(steps.checkout.scenario(scenario), kind.why)
    return bool(scenario)


def _tried(steps: Steps) -> str:
    return steps.loaded.scenario.language


_FILE = re.compile(
    r"(?<![\w.-])(package\.json|tsconfig\.json|pyproject\.toml|Cargo\.toml|go\.mod|pom\.xml"
    r"|composer\.json|Gemfile|build\.gradle|requirements\.txt|Makefile|Dockerfile|mkdocs\.yml"
    r"|nx\.json|angular\.json)(?![\w/-])"
)
"""By which a kind of project is known."""


def files_lacked(said: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Files of a project that a complaint names and that are nowhere among `paths`."""
    there = {path.rpartition("/")[2] for path in paths}
    named = [name for text in said for name in _FILE.findall(text)]
    return [name for name in dict.fromkeys(named) if name not in there][:2]


def _known(language: str) -> str:
    """As it stands in the table above."""
    return {"javascript": "typescript", "tsx": "typescript", "cpp": "c"}.get(language, language)


def _shown(language: str) -> str:
    return {"typescript": "TypeScript or JavaScript", "c": "C or C++"}.get(
        language, language.capitalize()
    )


def _said(text: str) -> Counter[str]:
    text = _MADE_OF.sub(" ", text)
    found = {name: len(pattern.findall(text)) for name, pattern in _WORDS.items()}
    return Counter({name: count for name, count in found.items() if count})
