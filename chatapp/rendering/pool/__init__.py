"""Renders texts to HTML in worker processes that can be killed, and caches the results.

`render_texts` and `arender_texts` take texts and return a function from each text to its HTML. A
string is Markdown; `Typed` is text that a person typed. `render_jobs` does the jobs of a
`LiveMarkdown`.

Text that is sure to be cheap is rendered in place. Everything else goes to a few worker processes
with a time limit, since no lexer is trusted and Python's `re` holds the GIL in any thread. Results
are kept for a while, for reloads and other tabs.

If rendering takes too long or a worker dies, the text is shown unformatted: nothing here raises.

Imports `rendering.markdown`, `concurrency` and nothing else of the app.
"""

from chatapp.rendering.pool.jobs import Typed
from chatapp.rendering.pool.texts import (
    GetHtml,
    Renderer,
    arender_texts,
    forget,
    render_jobs,
    render_texts,
    shut_down,
    warm_up,
)

__all__ = [
    "GetHtml",
    "Renderer",
    "Typed",
    "arender_texts",
    "forget",
    "render_jobs",
    "render_texts",
    "shut_down",
    "warm_up",
]
