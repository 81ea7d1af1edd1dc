"""The doctor: what is right and wrong with this installation, as findings.

Every check is a function that yields a `Finding` for each thing it looked at: a verdict, what was
found, and where it is not right what to set or run. A check changes nothing, prints nothing and
lets no secret into a finding. `manage.py doctor` runs them in their order and prints.

`probe` is the app's side of the checks that go through the public URL: addresses that answer only
to what was signed with this installation's secret key.

Imports `accounts`, `sessions`, `models`, `upstream` and what is below them, and `server`.
"""

from chatapp.doctor.examination import IDLE_SECONDS, Title, examine
from chatapp.doctor.report import lines, summary

__all__ = ["IDLE_SECONDS", "Title", "examine", "lines", "summary"]
