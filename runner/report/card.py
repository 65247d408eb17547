"""A server's card, as text."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from runner.records import ServerCard

WIDTH = 80
PATHS_SHOWN = 4
CANARY_CHARS = 200


def card_text(card: ServerCard) -> str:
    """What `fairtrial server check` shows; fits 80 columns."""
    verdict = "passes" if card.canary_passed else "FAILS"
    lines = [f"{card.name} {verdict} on {card.repository}"]
    for name, text in _rows(card):
        lines.append(
            fill(
                text,
                WIDTH,
                initial_indent=f"  {name:14} ",
                subsequent_indent=" " * 17,
                # Broken at a hyphen, a path or a tool's name could not be copied whole.
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines) + "\n"


def _rows(card: ServerCard) -> Iterator[tuple[str, str]]:
    yield "version", _version(card)
    for line in card.locks:
        yield "lock", line
    yield "tools", f"{len(card.tools)}: {', '.join(card.tools)}"
    yield "schema", f"{card.schema_chars:,} characters, about {card.schema_tokens:,} tokens"
    yield "instructions", f"{card.instructions_chars:,} characters"
    yield "seconds", _seconds(card)
    yield "memory, disk", _memory_and_disk(card)
    yield "files written", _files_written(card)
    yield "network", f"{card.network_attempts} attempts"
    if card.network_attempts:
        yield "  hint", _network_hint(card)
    yield "stray stdout", _stray(card)
    if card.stray_lines:
        yield "  hint", STRAY_HINT
    yield "line base", f"declared {card.line_base}, {_measured_line_base(card)}"
    yield "canary", _canary(card)


STRAY_HINT = (
    "lines that are not JSON-RPC, such as a banner or a log. They are skipped here and in no "
    "figure; a strict client drops the connection at the first. Send them to stderr: most servers "
    "have a flag or a variable for it (`command`, `env` in server.yaml)"
)


def _network_hint(card: ServerCard) -> str:
    what = (
        "refused, as a cell has no network: telemetry, an update check, a download or a name "
        "looked up (two attempts or more each). "
    )
    off = (
        "Switch it off in server.yaml (`env`: often DO_NOT_TRACK=1), or bring what it wants "
        "with the install (a package, `files`)"
    )
    if card.canary_passed:
        passed = "Harmless to the health probe, which passed; a call may still wait for it."
        return f"{what}{passed} {off}"
    return f"{what}The health probe fails, perhaps for want of it. {off}"


def _version(card: ServerCard) -> str:
    says = card.server_info or "nothing"
    return f"{card.version} ({card.licence}); serverInfo says {says}, protocol {card.protocol}"


def _seconds(card: ServerCard) -> str:
    return (
        f"{card.initialize_sec:.2f} to initialise, {card.warm_up_sec:.2f} to index, "
        f"{card.ready_sec:.2f} until ready, {card.answer_sec:.3f} to answer"
    )


def _memory_and_disk(card: ServerCard) -> str:
    memory = "unknown" if card.peak_memory_mb is None else f"{card.peak_memory_mb:.0f} MB"
    index = "unknown" if card.state_mb is None else f"{card.state_mb:.1f} MB"
    return f"{memory} at most; install {card.install_mb:.0f} MB, index {index}"


def _files_written(card: ServerCard) -> str:
    if card.files_written is None:
        return "unknown: it has a container of its own, which may have no shell"
    if not card.paths_written:
        return f"{card.files_written}"
    return f"{card.files_written}: {', '.join(card.paths_written[:PATHS_SHOWN])} …"


def _stray(card: ServerCard) -> str:
    if not card.stray:
        return f"{card.stray_lines} lines"
    return f"{card.stray_lines} lines, first {card.stray[0]!r}"


def _measured_line_base(card: ServerCard) -> str:
    if card.line_base_measured is None:
        return "not shown by the health probe"
    return f"measured {card.line_base_measured}"


def _canary(card: ServerCard) -> str:
    if card.canary_passed:
        return f"found {card.canary_wanted!r}{_tries(card)}"
    flaps = "FLAPS, it passed and then failed: " if card.canary_passes else ""
    answer = " ".join(card.canary_text.split())[:CANARY_CHARS]
    expected = f"expected {card.canary_wanted!r}, got: {answer or '(nothing)'}"
    return f"{flaps}{expected}{_tries(card)}"


def _tries(card: ServerCard) -> str:
    """Nothing of a health probe that passed at once: that is what everybody expects."""
    failures = card.canary_tries - card.canary_passes
    if not failures:
        return ""
    return f" ({failures} of {card.canary_tries} tries failed)"
