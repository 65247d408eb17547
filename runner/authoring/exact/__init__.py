"""Questions whose whole answer is known (docs/keys.md)."""
