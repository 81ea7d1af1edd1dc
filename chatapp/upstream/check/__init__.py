"""Check an upstream: send a few short requests and return a `Report` of what it does.

The command `check_upstream` and the button in the admin show the same report. Responses are kept as
recordings and read by pure functions, so the results on a stream can be tested with a file. The
key goes only to the upstream: no row, sentence or progress line contains it.

Imports other modules of `upstream`, and `checks`.
"""

from chatapp.upstream.check.check import LIMIT_SECONDS, check
from chatapp.upstream.check.questions import model_for_chat, models_for_chat
from chatapp.upstream.check.report import Report, build_row

__all__ = ["LIMIT_SECONDS", "Report", "build_row", "check", "model_for_chat", "models_for_chat"]
