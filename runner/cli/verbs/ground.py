"""`fairtrial ground`: are the citations of a text true?"""

from __future__ import annotations

import json
from pathlib import Path

from runner.cli import opening, options, output
from runner.cli.options import Request, said


class Verb(Request):
    repo: str = said("--repo PATH_OR_URL", "a repository that git can read or clone", required=True)
    commit: str = said(
        "--commit REVISION",
        "what the text speaks of: any revision of a folder, a URL's full SHA (default)",
        "HEAD",
    )
    roots: tuple[str, ...] = said(
        "--root PATH", "an absolute path by which the text calls the repository; repeatable"
    )
    strict: bool = said("--strict", "exit 1 if a citation is hallucinated")
    json: bool = options.as_json("one JSON object per file")
    files: tuple[Path, ...] = said("FILE …", "Markdown, plain text, or a transcript")


def run(request: Verb) -> int:
    from runner.grounding.commit_files import GitFiles
    from runner.report.citation_text import citations_text, ground_file
    from runner.repositories.repository import open_repository

    cache, asked = opening.places(request.root).state, request.commit
    repository, commit = open_repository(
        request.repo, asked, cache / "repositories", environ=opening.environ_without_keys()
    )
    if not commit.startswith(asked):
        output.tell(f"{asked} is {commit}; what is not committed is not looked at")
    files, hallucinated = GitFiles(repository, commit), 0
    roots, urls, kept = request.roots, [request.repo], cache / "grounding"
    for path in request.files:
        as_json, grounding = ground_file(path, files, roots=roots, cache_dir=kept, repo_urls=urls)
        if request.json:
            output.show(json.dumps(as_json, ensure_ascii=False, allow_nan=False))
        else:
            output.show(citations_text(str(path), commit, grounding.citations, grounding.summary))
        hallucinated += grounding.summary.hallucinated
    return output.FAILED if request.strict and hallucinated else output.OK
