"""Questions about a repository: planned, run in a cell, scored."""
