"""`fairtrial compare`: a server's new version against its last, for the person who writes it."""
