"""`fairtrial ground`: are the citations of a text true?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.cli import options
from runner.cli.opening import environ_without_keys, places
from runner.cli.options import Request, said
from runner.cli.output import FAILED, OK, show, tell


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    repo: str = said("--repo PATH_OR_URL", "a repository that git can read or clone", required=True)
    commit: str = said(
        "--commit REVISION",
        "what the text speaks of: any revision of a folder, a URL's full SHA (default: HEAD)",
        "HEAD",
    )
    roots: tuple[str, ...] = said(
        "--root PATH", "an absolute path by which the text calls the repository; repeatable", ()
    )
    strict: bool = said("--strict", "exit 1 if a citation is hallucinated")
    json: bool = options.as_json("one JSON object per file")
    files: tuple[Path, ...] = said("FILE …", "Markdown, plain text, or a transcript")


def run(request: Verb) -> int:
    import json

    from runner.grounding.commit_files import GitFiles
    from runner.report.citation_text import citations_text, ground_file
    from runner.repositories.repository import open_repository

    cache = places(request.root).state
    repository, commit = open_repository(
        request.repo, request.commit, cache / "repositories", environ=environ_without_keys()
    )
    if not commit.startswith(request.commit):
        tell(f"{request.commit} is {commit}; what is not committed is not looked at")
    files = GitFiles(repository, commit)
    hallucinated = 0
    for path in request.files:
        as_json, grounding = ground_file(
            path,
            files,
            roots=request.roots,
            cache_dir=cache / "grounding",
            repo_urls=[request.repo],
        )
        if request.json:
            show(json.dumps(as_json, ensure_ascii=False, allow_nan=False))
        else:
            show(citations_text(str(path), commit, grounding.citations, grounding.summary))
        hallucinated += grounding.summary.hallucinated
    return FAILED if request.strict and hallucinated else OK
