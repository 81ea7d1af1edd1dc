"""Chats that people's scripts save: the messages of one request over the API, and its answer.

All of it is stored when the answer has ended, in the transaction that books it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chat_settings import ChatSettings
from chatapp.models.conversations.conversation import Conversation
from chatapp.models.conversations.failed_models import FailedModel
from chatapp.models.conversations.forks import ROW_BYTES
from chatapp.models.conversations.images import ReplyImage
from chatapp.models.conversations.messages import STORED, Message
from chatapp.models.conversations.request_settings import RequestSettings
from chatapp.models.conversations.storage import take_room
from chatapp.models.platform.upstreams import Upstream
from chatapp.upstream.wire.reply import Ending, Reply


@dataclass(frozen=True)
class GivenMessage:
    """A message that a script sent."""

    is_prompt: bool
    content: str
    reasoning: str = ""
    refusal: str = ""


@dataclass(frozen=True)
class ApiAnswer:
    """The answer to a request. Its key is that of the request, whose usage has it, too."""

    pk: UUID
    upstream: Upstream
    model: str
    failed_models: Sequence[FailedModel]
    choices: Sequence[Reply]
    ending: Ending
    asked_at: datetime
    first_token: float | None  # seconds
    duration: float


@dataclass(frozen=True)
class ApiChat:
    """What a script wants to be saved. Prompts and replies alternate; the last is a prompt."""

    pk: UUID
    messages: Sequence[GivenMessage]
    system_prompt: str
    parameters: Mapping[str, object]

    @property
    def stored_bytes(self) -> int:
        texts = [self.system_prompt]
        for one in self.messages:
            texts += one.content, one.reasoning, one.refusal
        return len("".join(texts).encode()) + ROW_BYTES * len(self.messages)

    def take_room(self, user: User, hourly: TokenBucket) -> None:
        """Take what the script sent from the person's quota. Raises `Refused`."""
        take_room(user, self.stored_bytes, hourly)

    def store(self, person: int, answer: ApiAnswer) -> None:
        """Store the chat with its answer, in a transaction."""
        conversation = Conversation(
            pk=self.pk,
            user_id=person,
            title=Conversation.title_of(self.messages[0].content),
            stored_bytes=self.stored_bytes,
        )
        conversation.touch(answer.pk)
        settings = ChatSettings(conversation=conversation)
        settings.set_own(self.system_prompt, self.parameters)
        settings.store()
        sent_with = RequestSettings.of_script(conversation, self.system_prompt, self.parameters)
        given = self._given(conversation)
        reply = _reply_of(answer)
        reply.conversation, reply.parent = conversation, given[-1]
        reply.request_settings = sent_with
        others = [reply.other_choice(one, one.ending) for one in answer.choices[1:]]
        others = [one for one, of in zip(others, answer.choices[1:], strict=True) if of.has_arrived]
        STORED.run(*given, reply, *others)
        images = [image for one in (reply, *others) for image in one.image_rows()]
        ReplyImage.objects.bulk_create(images)

    def _given(self, conversation: Conversation) -> list[Message]:
        stored: list[Message] = []
        for one in self.messages:
            message = Message(
                conversation=conversation,
                parent=stored[-1] if stored else None,
                role=Message.Role.USER if one.is_prompt else Message.Role.ASSISTANT,
                content=one.content,
                reasoning=one.reasoning,
                refusal=one.refusal,
                ending="" if one.is_prompt else Ending.COMPLETE,
            )
            stored.append(message)
        return stored


def _reply_of(answer: ApiAnswer) -> Message:
    reply = Message(
        pk=answer.pk,
        role=Message.Role.ASSISTANT,
        upstream=answer.upstream,
        model=answer.model,
        failed_models_record=[one.as_record() for one in answer.failed_models] or None,
        created_at=answer.asked_at,
        time_to_first_token=answer.first_token,
        duration=answer.duration,
    )
    reply.take(answer.choices[0])
    reply.finish(answer.choices[0], answer.ending)
    return reply
