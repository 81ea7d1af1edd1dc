"""Decodes a stream: bytes to SSE events, to chunks, to typed `events`. `EventDecoder` does it all.

Imports `errors` and what lies in `wire` itself.
"""
