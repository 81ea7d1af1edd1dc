"""The installation: its settings and look, upstreams, tool servers, processes, and who may join.

Imports `audit` and `accounts`.
"""
