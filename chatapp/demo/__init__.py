"""The built-in demo upstream: an OpenAI-compatible server that answers from the app's own help.

`app.demo_application` builds the ASGI application. It does not import Django, and of the rest of
the app only `help` and `upstream.recordings`. The rest of the app treats this upstream like any
other.
"""
