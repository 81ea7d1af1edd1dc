"""How the app is served: the adapter of Daphne, listening sockets, threads, headers, middleware.

Imports `realtime`, `sessions`, `models` and what is below them.
"""
