"""A Python process with Django set up that runs one script after another for tests.

Starting a process for each script would take a second each.


    shell = Shell(environment)
    assert shell.run("print(User.objects.count())") == "1\\n"
    shell.close()
"""

import json
import subprocess
import sys
import traceback
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Shell:
    """Runs today's code, or that of another version in `folder` with its own `python`."""

    def __init__(
        self, environment: Mapping[str, str], python: str = sys.executable, folder: Path = ROOT
    ) -> None:
        self._process = subprocess.Popen(
            [python, "-P", __file__],
            cwd=folder,
            env={**environment, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, script: str) -> str:
        """Run a script and return what it printed; fail if it raised."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(script), file=self._process.stdin, flush=True)
        printed, error = json.loads(self._process.stdout.readline())
        assert not error, error
        return str(printed)

    def close(self) -> None:
        self._process.communicate()


def _serve() -> None:
    import django
    from django.db import connections

    django.setup()
    for line in sys.stdin:
        printed, error = StringIO(), ""
        try:
            with redirect_stdout(printed):
                exec(json.loads(line), {})  # noqa: S102 - the test's own script
        except Exception:  # noqa: BLE001 - reported to the test
            error = traceback.format_exc()
        connections.close_all()
        print(json.dumps([printed.getvalue(), error]), flush=True)


if __name__ == "__main__":
    _serve()
