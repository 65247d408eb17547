"""The model that is a program: it greps, and asks a server what it would grep for."""
