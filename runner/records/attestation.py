"""One file of digests by which a published report can be made again elsewhere.

An in-toto statement (github.com/in-toto/attestation, Statement v1). It holds no path of a machine
and no name of a model: a recording's name is its path.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from runner.records.anchor_grades import Gate, Since
from runner.records.record import Name, Record, Sha256, unless_none
from runner.records.record_parsing import load_json, parse_json, read_text
from runner.support.errors import CatalogError, Problem

STATEMENT: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
PREDICATE: Literal["urn:fairtrial:report:v1"] = "urn:fairtrial:report:v1"
MAX_FILE_BYTES = 64 * 1024 * 1024


class Digests(Record):
    sha256: Sha256


class Subject(Record):
    """A file of the run."""

    name: str
    """From the run's folder."""
    digest: Digests


class Attested(Record):
    """What the report follows from, beside the files of the run."""

    run: Name
    evidence: Sha256 | None = unless_none()
    """As the page and report.json name it; None in a statement of an older version."""
    ungated: bool
    gate: Gate | None
    since: Since | None
    locks: dict[str, Sha256]
    """Path from the checkout's top -> digest, with LF line ends."""
    scoring: dict[str, float | str]
    """Weights, and each module that makes a figure by its digest."""
    versions: dict[str, str]
    """Of what else decides a figure's last digit: Python, grammars, numpy and scipy."""
    figures: dict[str, float | str]
    """Key path in report.json -> the figure, of every arm and cell."""


class Statement(Record):
    model_config = ConfigDict(populate_by_name=True)

    type_: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")]
    subject: Annotated[tuple[Subject, ...], Field(min_length=1)]
    predicate_type: Annotated[Literal["urn:fairtrial:report:v1"], Field(alias="predicateType")]
    predicate: Attested


def read_statement(path: Path) -> Statement:
    """Raises CatalogError if it is none, or gives a key twice."""
    text = read_text(path, where=str(path), limit_bytes=MAX_FILE_BYTES)
    try:
        load_json(text)  # for its refusal: pydantic takes the last of two equal keys
    except ValueError as error:
        problem = Problem(where=str(path), message=f"not usable JSON: {error}")
        hint = "`fairtrial attest` writes such files"
        raise CatalogError([problem], hint=hint) from error
    return parse_json(text, Statement, where=str(path))
