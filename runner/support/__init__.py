"""What knows nothing of the rest: errors, text, streams, locks, digests."""
