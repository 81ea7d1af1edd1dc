"""Decode an upstream's stream without I/O: bytes to SSE events, chunks, typed events and a reply.

Depends only on the standard library and msgspec.
"""
