"""fairtrial gives an MCP server a fair trial: the same agent, question, commit and container, with and without it."""

__version__ = "0.1.0"
