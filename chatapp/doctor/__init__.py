"""The doctor: checks what is right and wrong with this installation.

Each check is a function that yields a `CheckResult` for each thing it examined: a status, what was
found and, if it is wrong, what to set or run. A check changes nothing, prints nothing and puts no
secret into a result. `manage.py doctor` runs the checks in order and prints the results.

`probe` is the app's side of the checks that go through the public URL: endpoints that answer only
requests signed with this installation's secret key.

Imports `accounts`, `sessions`, `models`, `upstream` and what is below them, and `server`.
"""
