"""Storing of prompts and replies: what is asked in a conversation, and which reply will answer it.

`turns` decides whether a person may ask, and calls this.
"""

import uuid
from abc import abstractmethod
from collections.abc import Sequence

from django.db import IntegrityError, models, transaction

from chatapp.db.statements import build
from chatapp.models.conversations.messages.messages import (
    INSERT_MESSAGES,
    STREAMING_CONSTRAINT,
    Message,
    load_streaming_replies,
)
from chatapp.models.platform.upstreams import Upstream
from chatapp.models.refusals import StillStreaming


class Askable(models.Model):
    """Stores prompts in a conversation together with their replies, which are then streaming."""

    class Meta:
        abstract = True

    def ask(
        self,
        prompt_id: uuid.UUID,
        text: str,
        parent: uuid.UUID | None,
        upstream: Upstream,
        model: str,
        streamed_by: uuid.UUID,
        *,
        is_continuation: bool = False,
        file_count: int = 0,
        others: Sequence[tuple[Upstream, str]] = (),
        request_settings: Sequence[uuid.UUID | None] = (),
    ) -> list[Message]:
        """Store a prompt and its reply, which is streaming from now on.

        Return both, followed by one reply for each of the `others`, models that are asked at the
        same time. `request_settings` has those of each reply. A continuation has no text. A new
        conversation is stored too.

        Raises `StillStreaming` if a reply is being written in this conversation, in any process,
        and `ChatNotFound` if the conversation was deleted.
        """
        prompt = build(
            Message,
            id=prompt_id,
            conversation=self,
            parent_id=parent,
            role=Message.Role.USER,
            content=text,
            is_continuation=is_continuation,
            file_count=file_count,
        )
        choices = [(upstream, model), *others]
        asked_with = request_settings or [None] * len(choices)
        replies = [
            self._build_reply(prompt, *choice, streamed_by, settings, slot)
            for slot, (choice, settings) in enumerate(zip(choices, asked_with, strict=True))
        ]
        self._store([prompt], replies)
        return [prompt, *replies]

    def answer(
        self,
        prompt: Message,
        upstream: Upstream,
        model: str,
        streamed_by: uuid.UUID,
        request_settings: uuid.UUID | None = None,
    ) -> Message:
        """Store and return one more reply to `prompt`, streaming from now on.

        Raises the same errors as `ask`.
        """
        reply = self._build_reply(prompt, upstream, model, streamed_by, request_settings)
        self._store([], [reply])
        return reply

    @abstractmethod
    def touch(self, leaf: uuid.UUID | None) -> None:
        """Store it as its owner's last used conversation, with this message as its active leaf.

        Raises `ChatNotFound` if it was deleted. `Conversation` implements this.
        """

    def _build_reply(
        self,
        prompt: Message,
        upstream: Upstream,
        model: str,
        streamed_by: uuid.UUID,
        request_settings: uuid.UUID | None,
        slot: int = 0,
    ) -> Message:
        return build(
            Message,
            conversation=self,
            parent=prompt,
            role=Message.Role.ASSISTANT,
            ending=Message.STREAMING,
            upstream=upstream,
            model=model,
            streamed_by=streamed_by,
            request_settings_id=request_settings,
            slot=slot,
        )

    def _store(self, prompts: list[Message], replies: list[Message]) -> None:
        """Store the messages in few statements: under load, each one waits for its turn to run."""
        first, *others = replies
        for other in others:
            other.created_at = first.created_at
        is_new = self._state.adding
        with transaction.atomic(savepoint=False):
            self.touch(first.parent_id if others else first.pk)
            if not is_new and load_streaming_replies(self.pk):  # in any slot
                raise StillStreaming
            try:
                INSERT_MESSAGES.run(*prompts, *replies)
            except IntegrityError as error:
                # PostgreSQL's message names the constraint, SQLite's its columns.
                if STREAMING_CONSTRAINT in str(error) or "chatapp_message.conversation_id" in str(
                    error
                ):
                    raise StillStreaming from error
                raise
