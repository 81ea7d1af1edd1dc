"""The check of an upstream: a few short questions in, a `Report` of what it does out.

`check` asks; `check_upstream` (the command) and the button in the admin show the same report.
Answers are kept as recordings and read by pure functions, so that what a report says of a stream
can be tried on a file. The key goes to the upstream alone: no row, sentence or line of progress
holds it.
"""

from chatapp.upstream_check.check import LIMIT_SECONDS, check
from chatapp.upstream_check.questions import model_for_chat
from chatapp.upstream_check.report import Report, Row, Verdict

__all__ = ["LIMIT_SECONDS", "Report", "Row", "Verdict", "check", "model_for_chat"]
