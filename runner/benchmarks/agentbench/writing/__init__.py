"""Queries that a model writes and tries, and that a person accepts."""
