"""Every file under scenarios/ by digest.

Digests are of bytes, never of a parsed form: two spellings that YAML reads alike cannot hide.
"""

from __future__ import annotations

from runner.catalog.catalog import EXACT, HELD_OUT
from runner.gate import figure_code
from runner.records import Record, canonical_json
from runner.scoring import ADOPTION, FAIRNESS, keywords
from runner.support.tree_digest import SCENARIOS

ANCHORS = f"{SCENARIOS}/{HELD_OUT}/"
QUESTIONS = f"{SCENARIOS}/{EXACT}/"


def canonical_text(record: Record) -> str:
    """A record as a file under locks/ holds it: one line of canonical JSON."""
    return canonical_json(record.model_dump(mode="json")) + "\n"


def scenario_of(path: str) -> str:
    """`scenarios/<suite>/<id>/` of a file; the file itself if it lies in no scenario's folder."""
    parts = path.split("/")
    if len(parts) <= 3:
        return path
    return "/".join(parts[:3]) + "/"


def is_frozen(path: str) -> bool:
    """True for what only `regrade` may change: a held-out scenario, its transcripts and grades."""
    if not path.startswith(ANCHORS):
        return False
    inside = path.removeprefix(scenario_of(path))
    return inside != "rubric.yaml" and not inside.startswith("reference/")


def scoring_in_use() -> dict[str, float | str]:
    """The weights of both scores, what a check means, and all code that makes a figure."""
    scoring: dict[str, float | str] = {
        "check_semantics": keywords.SEMANTICS,
        "bonus_weight": keywords.BONUS_WEIGHT,
    }
    for half, parts in (("fairness", FAIRNESS), ("adoption", ADOPTION)):
        for name, part in parts.items():
            scoring[f"{half}.{name}"] = part.weight
    return scoring | figure_code.code_in_use()
