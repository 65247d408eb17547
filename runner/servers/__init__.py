"""A server made ready, examined and asked."""
