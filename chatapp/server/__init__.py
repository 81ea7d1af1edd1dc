"""How the app is served: reactor, HTTP and WebSocket protocols, threads, headers, data dir.

Imports `realtime`, `sessions`, `models` and what is below them.
"""
