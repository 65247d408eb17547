"""Several servers in one cell, each its own process, and their tools behind one interface."""
