"""scenarios/ and images/servers/ as they are on disk: found, read, checked and locked."""
