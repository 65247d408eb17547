"""MCP-Eval: does an answer do what was asked, and if not, why?"""
