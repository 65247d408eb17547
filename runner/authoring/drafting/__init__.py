"""A scenario of one's own: its repository, and questions whose answers the tree proves."""
