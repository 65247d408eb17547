"""Tokens that nobody has counted."""

from __future__ import annotations

CHARS_PER_TOKEN = 4


def estimated_tokens(chars: int) -> int:
    """As English text and code have them by the usual tokenizers."""
    return chars // CHARS_PER_TOKEN
