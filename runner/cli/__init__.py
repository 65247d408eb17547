"""The command line: words, requests, verbs. Nothing else imports it."""
