"""I/O with upstreams (OpenAI-compatible APIs): requests, streams, connections, checks, recordings.

Does not import Django or Channels; of the app, it imports only `checks`.
"""
