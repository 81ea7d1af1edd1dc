"""Serves the app with Daphne: reactor, HTTP and WebSocket protocols, threads, middleware, probes.

Imports `realtime`, `sessions`, `models` and what is below them.
"""
