"""MCPToolBench++ (arXiv:2508.07575): does a model find, choose and call the right MCP tools?

The scores are those that the tool mcpbr documents for it; where its words leave room, scores.py
says what was chosen, and compat.py gives that tool's literal behaviour.
"""
