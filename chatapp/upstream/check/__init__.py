"""The check of an upstream: a few short questions in, a `Report` of what it does out.

`check` asks; `check_upstream` (the command) and the button in the admin show the same report.
Answers are kept as recordings and read by pure functions, so that what a report says of a stream
can be tried on a file. The key goes to the upstream alone: no row, sentence or line of progress
holds it.
"""

from chatapp.upstream.check.check import LIMIT_SECONDS, check
from chatapp.upstream.check.questions import model_for_chat
from chatapp.upstream.check.report import Report

__all__ = ["LIMIT_SECONDS", "Report", "check", "model_for_chat"]
