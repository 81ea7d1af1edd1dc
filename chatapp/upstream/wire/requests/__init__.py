"""What is sent to an upstream: history, parameters in its spelling, tools, and their size.

Imports `errors` and what lies in `wire` itself.
"""
