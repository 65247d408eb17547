"""Queries are read, held to rules, and their trajectories executed again."""
