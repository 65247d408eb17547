"""A server's card, as text."""

from __future__ import annotations

from textwrap import fill

from runner.records import ServerCard


def card_text(card: ServerCard) -> str:
    """What `fairtrial server check` shows; fits 80 columns."""
    measured = (
        "not shown by the canary"
        if card.line_base_measured is None
        else f"measured {card.line_base_measured}"
    )
    memory = "unknown" if card.peak_memory_mb is None else f"{card.peak_memory_mb:.0f} MB"
    rows = [
        (
            "version",
            f"{card.version} ({card.licence}); serverInfo says {card.server_info or 'nothing'}, protocol {card.protocol}",
        ),
        ("tools", f"{len(card.tools)}: {', '.join(card.tools)}"),
        ("schema", f"{card.schema_chars:,} characters, about {card.schema_tokens:,} tokens"),
        ("instructions", f"{card.instructions_chars:,} characters"),
        (
            "seconds",
            f"{card.initialize_sec:.2f} to initialise, {card.warm_up_sec:.2f} to index, {card.answer_sec:.3f} to answer",
        ),
        (
            "memory, disk",
            f"{memory} at most; install {card.install_mb:.0f} MB, index {card.state_mb:.1f} MB",
        ),
        (
            "files written",
            f"{card.files_written}"
            + (f": {', '.join(card.paths_written[:4])} …" if card.paths_written else ""),
        ),
        ("network", f"{card.network_attempts} attempts"),
        (
            "stray stdout",
            f"{card.stray_lines} lines" + (f", first {card.stray[0]!r}" if card.stray else ""),
        ),
        ("line base", f"declared {card.line_base}, {measured}"),
        ("canary", _canary(card)),
    ]
    verdict = "passes" if card.canary_passed else "FAILS"
    lines = [f"{card.name} {verdict} on {card.repository}"]
    lines += [
        fill(
            text,
            80,
            initial_indent=f"  {name:14} ",
            subsequent_indent=" " * 17,
            break_on_hyphens=False,
        )
        for name, text in rows
    ]
    return "\n".join(lines) + "\n"


def _canary(card: ServerCard) -> str:
    if card.canary_passed:
        return f"found {card.canary_wanted!r}"
    return f"expected {card.canary_wanted!r}, got: {' '.join(card.canary_text.split())[:200] or '(nothing)'}"
