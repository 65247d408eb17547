"""Transcripts of other harnesses, read into our records."""
