"""Questions whose whole answer is known (docs/exact.md)."""
