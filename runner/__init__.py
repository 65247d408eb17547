"""fairtrial gives an MCP server a fair trial.

The same agent, question, commit and container, with the server and without it.
"""

__version__ = "0.1.0"
