"""What one reply costs while it is written: round by round, and in each round try by try."""

from collections.abc import Sequence
from typing import Any

from chatapp.models.usage import Usage
from chatapp.upstream.wire.errors import ErrorKind
from chatapp.upstream.wire.estimates import Asked, estimate
from chatapp.upstream.wire.reply import Reply


class Cost:
    """`choices` is always what has arrived of the try under way, all its choices."""

    def __init__(self) -> None:
        self._rounds: list[dict[str, Any]] = []
        self._tries: list[dict[str, Any]] = []  # of this round, that have ended
        self._asked: Asked | None = None
        self._was_refused = False

    def ask(self, asked: Asked) -> None:
        """A request is sent."""
        self._asked = asked

    def end_try(self, choices: Sequence[Reply]) -> None:
        """The round is asked for again, whatever has arrived."""
        if usage := self._of_try(choices):
            self._tries.append(usage.as_record())
        self._was_refused |= self._asked is not None and not usage
        self._asked = None

    def end_round(self, choices: Sequence[Reply]) -> dict[str, Any]:
        """Returns what the round has cost, as `Usage.as_record`."""
        self.end_try(choices)
        self._rounds.append(self._sum(self._tries).as_record())
        self._tries = []
        return self._rounds[-1]

    @property
    def ended(self) -> Usage:
        """What the requests have cost that have ended."""
        return self._sum([*self._rounds, *self._tries])

    def usage(self, choices: Sequence[Reply]) -> Usage:
        """What all of it has cost so far."""
        this = self._of_try(choices)
        earlier = [*self._rounds, *self._tries]
        if this and not earlier:
            return this
        return self._sum([*earlier, *([this.as_record()] if this else [])])

    def _sum(self, records: list[dict[str, Any]]) -> Usage:
        if len(records) == 1:
            return Usage(**records[0])
        if records:
            return Usage.of_rounds(records)
        if self._was_refused or self._asked:
            return Usage.counted(Usage.Provenance.UNKNOWN, None)
        return Usage.nothing()

    def _of_try(self, choices: Sequence[Reply]) -> Usage | None:
        """None where nothing was asked, or it was refused before it began, which costs nothing."""
        first = choices[0]
        if first.usage:
            return Usage.counted(Usage.Provenance.REPORTED, first.usage)
        if self._asked is None or (first.error and not _has_begun(choices)):
            return None
        return Usage.estimated(estimate(self._asked, choices))


def _has_begun(choices: Sequence[Reply]) -> bool:
    """Whether the upstream took the request: it named its response, wrote, or was silent."""
    first = choices[0]
    is_silent = first.error is not None and first.error.kind is ErrorKind.TIMED_OUT
    return is_silent or any(
        one.response_id or one.finish_reason or one.has_arrived for one in choices
    )
