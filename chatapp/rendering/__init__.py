"""HTML: Markdown, the pool of processes that renders it, and fragments for pages and sockets.

Imports `catalogue`, `models`, `upstream` and what is below them.
"""
