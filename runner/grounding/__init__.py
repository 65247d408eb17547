"""Which citations an answer makes, and whether the commit bears them out (docs/citations.md)."""
