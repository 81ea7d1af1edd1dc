"""What a reply may spend where limits concern it: asked for before each request, and counted while
it is written.

Where no limit does, there is no purse, and nothing of this costs anything. While the database is
away a reply goes on, and what it spends beyond its hold is charged when it is saved.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from django.db import InterfaceError, OperationalError

from chatapp.generation.storing import stored
from chatapp.models import Upstream, Usage
from chatapp.models.purses import MOST_ASKED_FOR, Purse, admit_again, remember_tools
from chatapp.upstream.wire.dialects import OPENAI, RequestOptions
from chatapp.upstream.wire.estimates import Asked
from chatapp.upstream.wire.events import (
    AnswerDelta,
    Event,
    ReasoningDelta,
    RefusalDelta,
    ToolCallDelta,
)

logger = logging.getLogger(__name__)

# OpenAI's own server refuses `max_tokens` for its newer models, and others do not know the new name
# (https://platform.openai.com/docs/api-reference/chat/create, `max_completion_tokens`).
NEW_NAME, OLD_NAME = "max_completion_tokens", "max_tokens"
OPENAI_HOSTS = ("openai.com", "openai.azure.com")


class Spending:
    """Of one reply, or of a title. `end` ends it as over its budget."""

    def __init__(self, purse: Purse | None, end: Callable[[], None]) -> None:
        self.purse = purse
        self.was_cut_short = False  # the upstream was told to write less than it otherwise might
        self._end = end

    @property
    def is_urgent(self) -> bool:
        """Whether more has to be held for it now."""
        return self.purse is not None and self.purse.wants_more and not self.purse.was_refused

    async def admitted(
        self, asked: Asked, earlier: Usage, options: RequestOptions, upstream: Upstream
    ) -> RequestOptions:
        """The options of a request that the budget affords; where it affords none, the reply ends
        here."""
        if (purse := self.purse) is None:
            return options
        remember_tools(upstream.pk, asked.upper_tool_tokens)
        admission = partial(admit_again, purse, asked.upper_tokens, earlier)
        try:
            is_admitted = await stored(admission)
        except (OperationalError, InterfaceError) as error:
            logger.warning("A request goes on without its hold: %s", error)
            is_admitted = True
        if not is_admitted:
            self._end()
            await asyncio.sleep(0)  # where the end is heard
        return self.told(options, upstream)

    def told(self, options: RequestOptions, upstream: Upstream) -> RequestOptions:
        """With `max_tokens` as the budget affords, or as an administrator set it for less."""
        if (purse := self.purse) is None:
            return options
        name, most = _most_of(options.parameters, upstream)
        affordable = max(1, purse.affordable // options.choices)
        self.was_cut_short = affordable <= MOST_ASKED_FOR and (most is None or affordable < most)
        if not self.was_cut_short:
            purse.tell(most * options.choices if most else None)
            return options
        purse.tell(affordable * options.choices)
        return replace(options, parameters={**options.parameters, name: affordable})

    def count(self, events: Iterable[Event]) -> None:
        """What has arrived."""
        if self.purse:
            self.purse.written += sum(map(_bytes_of, events))
            self.end_if_over()

    def end_if_over(self) -> None:
        """Ends the reply where it has used up all it may."""
        if self.purse and self.purse.is_over:
            self._end()


def _most_of(parameters: Mapping[str, object], upstream: Upstream) -> tuple[str, int | None]:
    """What the upstream calls the length of an answer at most, and how much that is by now."""
    for name in (NEW_NAME, OLD_NAME):
        if type(most := parameters.get(name)) is int and most > 0:
            return name, most
    host = urlsplit(upstream.base_url).hostname or ""
    is_openai = upstream.dialect == OPENAI.name or host.endswith(OPENAI_HOSTS)
    return (NEW_NAME if is_openai else OLD_NAME), None


def _bytes_of(event: Event) -> int:
    match event:
        case AnswerDelta() | ReasoningDelta() | RefusalDelta():
            return len(event.text.encode(errors="replace"))
        case ToolCallDelta():
            return len((event.name + event.arguments).encode(errors="replace"))
    return 0
