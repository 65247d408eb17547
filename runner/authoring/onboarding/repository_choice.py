"""The repository that a server can read: by the project files that it asks for in vain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.catalog.catalog import APART

if TYPE_CHECKING:
    from runner.authoring.onboarding.onboarding_state import OnboardingState
    from runner.authoring.onboarding.start_attempt import StartAttempt

_FILES = {
    "package.json": "typescript",
    "tsconfig.json": "typescript",
    "Cargo.toml": "rust",
    "pyproject.toml": "python",
    "requirements.txt": "python",
}
_FILE = re.compile(
    r"(?<![\w.-])(package\.json|tsconfig\.json|pyproject\.toml|Cargo\.toml|go\.mod|pom\.xml"
    r"|composer\.json|Gemfile|build\.gradle|requirements\.txt|Makefile|Dockerfile|mkdocs\.yml"
    r"|nx\.json|angular\.json)(?![\w/-])"
)
"""By which a kind of project is known."""
_SHOWN = {"typescript": "TypeScript or JavaScript", "c": "C or C++"}


@dataclass(frozen=True, kw_only=True)
class LanguageGuess:
    """A language that a server seems to need, and by what that is known."""

    language: str
    """`typescript` is a repository's that has JavaScript too."""
    why: str


def kind_by_files(lacked: Iterable[str], tried: str) -> LanguageGuess | None:
    """`lacked`: files that its complaints name and that the tried repository has not."""
    for file in lacked:
        language = _FILES.get(file, "")
        if language and language != _known(tried):
            return LanguageGuess(language=language, why=f"it asks for {file}")
    return None


def other_kind(tried: str) -> LanguageGuess:
    """For one that starts, and shows nothing."""
    known = _known(tried)
    language = "python" if known == "typescript" else "typescript"
    return LanguageGuess(
        language=language,
        why=f"no call of ours showed one in {_SHOWN.get(known, known.capitalize())}",
    )


def fitting(kind: LanguageGuess, scenarios: Mapping[str, str]) -> str:
    """The first scenario in that language; empty if none is. `scenarios`: id -> language."""
    return next((name for name, spoken in scenarios.items() if _known(spoken) == kind.language), "")


def choose_by_failing(steps: OnboardingState, attempt: StartAttempt) -> bool:
    """Is there another repository that fits what it asked for in vain? It is chosen then."""
    if not steps.chosen:
        return False
    tried = steps.loaded.scenario.language
    kind = kind_by_files(files_asked_for(steps, attempt), tried)
    if kind is not None and _choose(steps, kind):
        return True
    # It may look for what this repository has none of: todos, components, a linter's configuration.
    return attempt.search.calls > 0 and _choose(steps, other_kind(tried))


def files_asked_for(steps: OnboardingState, attempt: StartAttempt) -> list[str]:
    """Files of a project that its complaints name, and that the tried repository has not."""
    complaints = [attempt.said, *attempt.search.errors_of.values()]
    return files_lacked(complaints, steps.checkout.files(steps.loaded).paths())


def files_lacked(said: Iterable[str], paths: Iterable[str]) -> list[str]:
    there = {path.rpartition("/")[2] for path in paths}
    named = [name for text in said for name in _FILE.findall(text)]
    return [name for name in dict.fromkeys(named) if name not in there][:2]


def _choose(steps: OnboardingState, kind: LanguageGuess) -> bool:
    sound = steps.checkout.catalog.scenarios.sound().items()
    known = {name: one.scenario.language for name, one in sound if one.suite not in APART}
    scenario = fitting(kind, known)
    if scenario:
        steps.choose(steps.checkout.scenario(scenario), kind.why)
    return bool(scenario)


def _known(language: str) -> str:
    """As it stands in the table above."""
    return {"javascript": "typescript", "tsx": "typescript", "cpp": "c"}.get(language, language)
