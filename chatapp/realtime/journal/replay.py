"""Replays a reply's records into the state its process had when it died. Pure except for models."""

from collections.abc import Iterable
from typing import assert_never

from chatapp.models import Usage
from chatapp.models.conversations.messages.costs import Cost
from chatapp.models.conversations.messages.rounds import Round, ToolRun
from chatapp.realtime.journal.records import (
    EventsReceived,
    Heading,
    Record,
    RequestSent,
    RoundEnded,
    ToolRunChanged,
    decode_events,
)
from chatapp.upstream.wire.decoding.decoder import MAX_CHOICES
from chatapp.upstream.wire.reply import Ending, Reply


class Replay:
    """The replayed state: `reply` is the unfinished round, `others` its other choices."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.rounds: list[tuple[Round, Reply]] = []  # finished: as kept and as received
        self.reply = Reply()
        self.others: list[Reply] = []
        self._runs: dict[int, ToolRun] = {}
        self._cost = Cost()
        for record in records:
            try:
                self._apply_record(record)
            except ValueError:  # not an event of this version
                break

    @property
    def runs(self) -> list[ToolRun]:
        """The last round's tool calls; unfinished ones are marked as cancelled."""
        calls = [ToolRun.of(call) for call in self.reply.tool_calls]
        runs = [self._runs.get(index, call) for index, call in enumerate(calls)]
        for run in runs:
            run.cancel_unfinished()
        return runs

    @property
    def usage(self) -> Usage:
        return self._cost.usage([self.reply, *self.others])

    @property
    def length(self) -> int:
        """The number of characters in all answers, reasoning and tool calls."""
        rounds = [round for round, _ in self.rounds]
        return count_characters([*rounds, Round.of(self.reply, self.runs, {})])

    def find_ending(self, reply: Reply) -> Ending:
        """Return the stream's own ending if it had ended, else `INTERRUPTED`."""
        is_whole = reply.finish_reason and not reply.wants_tools
        has_failed = reply.error and (reply.answer_parts or reply.reasoning_parts)
        return reply.ending if is_whole or has_failed else Ending.INTERRUPTED

    def _apply_record(self, record: Record) -> None:
        match record:
            case Heading():
                pass
            case RequestSent(size, choices):
                self._cost.end_try([self.reply, *self.others])
                self._cost.begin_try(size)
                self.reply = Reply()
                self.others = [Reply(choice) for choice in range(1, min(choices, MAX_CHOICES))]
            case EventsReceived():
                for event in decode_events(record):
                    for reply in (self.reply, *self.others):
                        reply.apply(event)
            case ToolRunChanged(index, run):
                self._runs[index] = run
            case RoundEnded(round):
                self._cost.end_round([self.reply, *self.others])
                self.rounds.append((round, self.reply))
                self.reply, self.others, self._runs = Reply(), [], {}
            case _:
                assert_never(record)


def count_characters(rounds: Iterable[Round]) -> int:
    """Return the number of characters in the rounds."""
    return sum(map(_count_round_characters, rounds))


def _count_round_characters(round: Round) -> int:
    texts = [round.reasoning, round.content, round.refusal]
    texts += [text for run in round.tool_runs for text in (run.name, run.arguments, run.result)]
    return sum(map(len, texts))
