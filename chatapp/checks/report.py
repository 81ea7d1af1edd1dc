"""Write a check to the terminal while it runs, for management commands."""

import asyncio
import shutil
import textwrap
from collections import Counter
from collections.abc import AsyncIterable, Iterable

from django.core.management.base import BaseCommand

from chatapp.checks.results import CheckResult, CheckStep, Heading, Status, clean

_MAX_WIDTH = 100
_STATUS_WIDTH = 9
_NAME_WIDTH = 17
_COUNTABLE = (Status.WARNING, Status.NOTE)


class TerminalReport:
    """Shows each step as soon as it is known, and counts the results at the end."""

    def __init__(self, command: BaseCommand) -> None:
        self._out, self._style = command.stdout, command.style
        self._width = min(shutil.get_terminal_size().columns, _MAX_WIDTH)
        self._results: list[CheckResult] = []

    def show_steps(
        self, steps: Iterable[CheckStep] | AsyncIterable[CheckStep]
    ) -> list[CheckResult]:
        """Show a check while it runs. Return the results that failed."""
        if isinstance(steps, AsyncIterable):
            asyncio.run(self._show_async(steps))
        else:
            for step in steps:
                self._show(step)
        self._write(f"\n{summarize(self._results)}")
        return [result for result in self._results if result.has_failed]

    async def _show_async(self, steps: AsyncIterable[CheckStep]) -> None:
        async for step in steps:
            self._show(step)

    def _show(self, step: CheckStep) -> None:
        if isinstance(step, Heading):
            blank = "\n" if self._results else ""
            self._write(f"{blank}{self._style.MIGRATE_HEADING(clean(step.text))}")
            return
        self._results.append(step)
        lines = format_result(step, self._width)
        styles = {
            Status.OK: self._style.SUCCESS,
            Status.WARNING: self._style.WARNING,
            Status.FAILED: self._style.ERROR,
        }
        paint = styles.get(step.status, self._style.NOTICE)
        self._write("\n".join(lines).replace(step.status, paint(step.status), 1))

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def format_result(result: CheckResult, width: int = 80) -> list[str]:
    """Format a result as lines: the status, the name, and beside them what was found."""
    result = result.clean()
    margin = 2 + _STATUS_WIDTH + _NAME_WIDTH
    room = max(30, width - margin)
    first, *other_lines = _wrap_text(result.evidence, room) or [""]
    name = f"{result.what:<{_NAME_WIDTH - 1}} "
    head = f"  {result.status:<{_STATUS_WIDTH}}{name}{first}".rstrip()
    remedy = _wrap_text(result.remedy, room - 2)
    advice = [f"{'→ ' if at == 0 else '  '}{line}" for at, line in enumerate(remedy)]
    return [head, *(" " * margin + line for line in other_lines + advice)]


def summarize(results: Iterable[CheckResult]) -> str:
    """Return the count of each status, such as `1 failed, 2 warnings, 14 ok.`"""
    counts = Counter(result.status for result in results)
    parts = (
        f"{counts[status]} {status}{'s' if status in _COUNTABLE and counts[status] > 1 else ''}"
        for status in Status
        if counts[status]
    )
    return f"{', '.join(parts)}."


def _wrap_text(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=True)
