"""The built-in demo upstream: an OpenAI-compatible server that answers from the app's own help.

`app.demo_application` makes the ASGI application. It does not import Django, and of the rest of the
app only `upstream.recordings`. Nothing in the rest of the app knows that this upstream is not a
real one. Others may use only `help_text.HELP_FILE`, because the page /help/ shows the same text.
"""
