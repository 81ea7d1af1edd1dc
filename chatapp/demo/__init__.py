"""The built-in demo upstream: an OpenAI-compatible server that answers from the app's own help.

`app.demo_application` makes the ASGI application. Nothing here imports Django, and nothing in the
rest of the app knows that this upstream is not a real one. The one thing that others may use is
`help_text.HELP_FILE`, since the page /help/ shows the same text.
"""
