"""Add up what one reply costs while it is written, over its rounds and the tries of each round."""

from collections.abc import Sequence
from typing import Any

from chatapp.models.billing.usage import Usage
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.reply import Reply
from chatapp.upstream.wire.requests.estimates import PromptSize, estimate


class Cost:
    """The usage of one reply. `choices` are always all choices of the current try so far."""

    def __init__(self) -> None:
        self._rounds: list[dict[str, Any]] = []
        self._tries: list[dict[str, Any]] = []  # the ended tries of this round
        self._request: PromptSize | None = None
        self._was_refused = False

    def begin_try(self, request: PromptSize) -> None:
        """Begin a try: this request is sent."""
        self._request = request

    def end_try(self, choices: Sequence[Reply]) -> None:
        """End the current try, before the round is requested again or ends."""
        if usage := self._compute_try_usage(choices):
            self._tries.append(usage.as_record())
        self._was_refused |= self._request is not None and not usage
        self._request = None

    def end_round(self, choices: Sequence[Reply]) -> dict[str, Any]:
        """End the round; return its cost as `Usage.as_record` does."""
        self.end_try(choices)
        self._rounds.append(self._sum(self._tries).as_record())
        self._tries = []
        return self._rounds[-1]

    @property
    def ended_usage(self) -> Usage:
        """The cost of the requests that have ended."""
        return self._sum([*self._rounds, *self._tries])

    def usage(self, choices: Sequence[Reply]) -> Usage:
        """Return the cost of the whole reply so far, including the current try."""
        this = self._compute_try_usage(choices)
        earlier = [*self._rounds, *self._tries]
        if this and not earlier:
            return this
        return self._sum([*earlier, *([this.as_record()] if this else [])])

    def _sum(self, records: list[dict[str, Any]]) -> Usage:
        if len(records) == 1:
            return Usage(**records[0])
        if records:
            return Usage.sum_rounds(records)
        if self._was_refused or self._request:
            return Usage.from_tokens(Usage.Provenance.UNKNOWN, None)
        return Usage.empty()

    def _compute_try_usage(self, choices: Sequence[Reply]) -> Usage | None:
        """Return None if nothing was sent, or if it was refused before it began: that is free."""
        first = choices[0]
        if first.usage:
            usage = Usage.from_tokens(Usage.Provenance.REPORTED, first.usage)
        elif self._request is None or (first.error and not _has_begun(choices)):
            return None
        else:
            usage = Usage.from_estimate(estimate(self._request, choices))
        if not usage.extra_fees and any(choice.sources for choice in choices):
            usage.extra_fees = 1  # it has searched, even if it doesn't say how often
        return usage


def _has_begun(choices: Sequence[Reply]) -> bool:
    """Whether the upstream accepted the request: it named its response, wrote, or timed out."""
    first = choices[0]
    is_silent = first.error is not None and first.error.kind is ErrorKind.TIMED_OUT
    return is_silent or any(
        choice.response_id or choice.finish_reason or choice.has_arrived for choice in choices
    )
