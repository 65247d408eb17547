"""Source -> repository with one commit -> work tree. The home of git."""
