"""Run a management command in this process."""

from io import StringIO

from django.core.management import CommandError, call_command


class Printed:
    """The output of a command, and the message of its `CommandError`, if any."""

    def __init__(self, *arguments: str) -> None:
        out, err = StringIO(), StringIO()
        self.problem = ""
        try:
            call_command(*arguments, stdout=out, stderr=err, no_color=True)
        except CommandError as error:
            self.problem, self.status = str(error), error.returncode
        self.out, self.err = out.getvalue(), err.getvalue()
