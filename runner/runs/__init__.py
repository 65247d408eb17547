"""Cells to run, one attempt at one, and what to believe of them afterwards."""
