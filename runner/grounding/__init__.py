"""Which citations an answer makes, and whether the commit bears them out (DESIGN.md, Citations)."""
