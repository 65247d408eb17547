"""MCP-AgentBench: does an agent get real work done with the MCP servers it is given?

Source: the paper's six categories, loop limits, judging principles and figures (seed 003). Its code
and data are not public: servers, queries and prompts here are our own, in its structure.
"""
