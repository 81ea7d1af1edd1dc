"""Check an upstream: send a few short requests and yield what it does, as results.

The command `check_upstream` and the pages of administrators run the same check. Responses are kept
as recordings and read by pure functions, so the results on a stream can be tested with a file. The
key goes only to the upstream: no heading or result contains it.

Imports other modules of `upstream`, and `checks`.
"""

from chatapp.upstream.check.check import check
from chatapp.upstream.check.questions import model_for_chat, models_for_chat

__all__ = ["check", "model_for_chat", "models_for_chat"]
