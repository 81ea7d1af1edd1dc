"""An upstream's stream, read without I/O: bytes to SSE, chunks, events and a reply.

Knows the standard library and msgspec.
"""
