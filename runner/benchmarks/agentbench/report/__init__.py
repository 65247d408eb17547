"""A run of queries, judged and shown."""
