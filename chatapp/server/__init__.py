"""The server of the app: the adapter of Daphne, listening sockets, threads, headers, middleware.

Imports `realtime`, `sessions`, `models` and what is below them.
"""
