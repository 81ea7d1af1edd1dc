"""Requests titles from a model, each in its own task; `Titles` owns the tasks and cancels them."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from contextvars import Context
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple
from uuid import UUID

from django.db import Error, transaction
from django.db.models import Subquery

from chatapp.models import Conversation, Installation, Message, Refused, Upstream
from chatapp.models.billing.admission import PlannedRequest, admit_title
from chatapp.models.billing.reservations import Reservation
from chatapp.realtime.generation import run_in_write_thread
from chatapp.realtime.generation.unsaved import UnsavedAnswer, book, build_plain_request
from chatapp.realtime.titling.wording import MAX_LENGTH, build_messages, extract_title
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.requests.estimates import PromptSize
from chatapp.upstream.wire.requests.history import History

logger = logging.getLogger(__name__)

SECONDS = 30.0  # time limit for a title
MAX_READ = 20 * MAX_LENGTH  # characters of an answer; a longer one is cut off
WHOLE = (Ending.COMPLETE, Ending.LENGTH)


@dataclass(frozen=True)
class UntitledChat:
    """A conversation that needs a title, with its first whole reply and that reply's prompt."""

    conversation: Conversation
    prompt: Message
    reply: Message

    @cached_property
    def first_words(self) -> str:
        """The title that the conversation has until it is given one, from its first prompt."""
        first = self.conversation.messages.filter(parent=None).first()
        return Conversation.build_title(first.content) if first else ""

    @cached_property
    def history(self) -> History:
        """The messages sent to the model."""
        prompt = self.prompt.content or self.first_words  # a continuation has no text of its own
        return History.of(build_messages(prompt, self.reply.answer_text))

    def claim(self, process: UUID) -> "ClaimedTitle | None":
        """Reserve the title, so that nobody else requests it.

        Returns None if no model was chosen or the title is already claimed or given. Raises
        `Refused` if the limits leave too little.
        """
        installation = Installation.load()
        upstream, model = installation.titles_by, installation.title_model
        if not upstream:
            return None
        conversation = self.conversation
        with transaction.atomic():
            if self._is_late() or not conversation.claim_title(self.first_words):
                return None
            asking = PlannedRequest(conversation.pk, upstream.pk, model, process)
            tokens = PromptSize.of(self.history).upper_tokens
            reservation = admit_title(conversation.user_id, asking, tokens)
            return ClaimedTitle(upstream, model, reservation)

    def _is_late(self) -> bool:
        """Whether another prompt had a whole reply earlier, which was the time for a title."""
        whole = self.conversation.messages.filter(ending__in=WHOLE).exclude(parent=self.prompt)
        return whole.filter(sequence__lt=self._sequence()).exists()

    def _sequence(self) -> Subquery:
        return Subquery(Message.objects.filter(pk=self.reply.pk).values("sequence"))


class ClaimedTitle(NamedTuple):
    """A title that only this process requests, and its budget if limits apply."""

    upstream: Upstream
    model: str
    reservation: Reservation | None


class Titles:
    """Gives titles to a worker's conversations.

    `is_running` says whether a reply runs in a conversation. `changed` announces that the
    conversation of a user has a new title.
    """

    def __init__(
        self,
        process: UUID,
        client: UpstreamClient,
        is_running: Callable[[UUID], bool],
        changed: Callable[[int, UUID], None],
    ) -> None:
        self._process = process
        self._client = client
        self.is_running = is_running
        self._changed = changed
        self._waiting: dict[UUID, UntitledChat] = {}  # until no reply runs in the conversation
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_ended = False

    def reply_ended(self, prompt: Message, reply: Message) -> None:
        """Start a title if one is due. Call this after each reply that was saved."""
        conversation = reply.conversation
        is_untitled = conversation.titled_by == Conversation.TitledBy.PROMPT
        is_untitled &= conversation.has_title_model and not conversation.is_temporary
        if is_untitled and reply.ending in WHOLE and reply.answer_text:
            self._waiting.setdefault(conversation.pk, UntitledChat(conversation, prompt, reply))
        if self._has_ended or self.is_running(conversation.pk):
            return
        if untitled := self._waiting.pop(conversation.pk, None):
            task = asyncio.create_task(self._write_title(untitled), context=Context())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def until_written(self) -> None:
        """Wait for the titles being requested."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def end(self) -> None:
        """Cancel all requests, which closes their upstreams, and start no more."""
        self._has_ended = True
        for task in self._tasks:
            task.cancel()
        await self.until_written()

    async def _write_title(self, untitled: UntitledChat) -> None:
        conversation = untitled.conversation
        try:
            if claimed := await run_in_write_thread(partial(untitled.claim, self._process)):
                await self._set_title(untitled, await self._ask(untitled, *claimed))
        except Refused as refused:
            logger.info("No title for conversation %s: %s", conversation.pk, refused)
        except Error as error:
            logger.warning("No title for conversation %s: %s", conversation.pk, error)
        except Exception:  # a title is optional, so a failure only goes to the log
            logger.exception("No title for conversation %s", conversation.pk)

    async def _ask(
        self,
        untitled: UntitledChat,
        upstream: Upstream,
        model: str,
        reservation: Reservation | None,
    ) -> Reply:
        """Return the model's answer. Its usage is recorded even if it fails or is cancelled."""
        answer = UnsavedAnswer(self._client, reservation)
        person = untitled.conversation.user_id
        request = build_plain_request(upstream, model, untitled.history, person)
        try:
            async with asyncio.timeout(SECONDS), aclosing(answer.read(request)) as batches:
                async for _ in batches:
                    if len(answer.reply.answer) > MAX_READ:
                        break
        except TimeoutError:
            logger.info("%s took longer than %g s to write a title", upstream, SECONDS)
        finally:
            conversation = untitled.conversation.pk
            charge = partial(answer.usage.charge_title, conversation, person, upstream, model)
            await run_in_write_thread(partial(book, charge, upstream))
        return answer.reply

    async def _set_title(self, untitled: UntitledChat, reply: Reply) -> None:
        """Set the conversation's title from the answer, if it has one."""
        conversation = untitled.conversation
        is_whole = reply.ending in WHOLE or len(reply.answer) > MAX_READ
        title = extract_title(reply.answer) if is_whole else ""
        if not title:
            reason = reply.error.kind if reply.error else reply.ending
            logger.warning("No title for conversation %s: %s", conversation.pk, reason)
        elif await run_in_write_thread(
            partial(conversation.give_title, title, untitled.first_words)
        ):
            self._changed(conversation.user_id, conversation.pk)
