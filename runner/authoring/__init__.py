"""What users bring: servers of a name alone, scenarios of their own repositories."""
