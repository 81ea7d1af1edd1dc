"""The error of an upstream, and what its words refuse, in any gateway's.

Imports nothing else of `wire`.
"""
