"""Chats that people's scripts save: the messages of one request over the API, and its answer.

All of it is stored when the answer has ended, in the transaction that books it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.chat_settings import ChatSettings
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.request_settings import RequestSettings
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.models.conversations.messages.images import ReplyImage
from chatapp.models.conversations.messages.messages import INSERT_MESSAGES, Message
from chatapp.models.conversations.messages.storage import charge_quota
from chatapp.models.conversations.turns.forks import ROW_BYTES
from chatapp.models.platform.upstreams import Upstream
from chatapp.upstream.wire.reply import Ending, Reply


@dataclass(frozen=True)
class ScriptMessage:
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
    """The chat that a script saves. Prompts and replies alternate; the last is a prompt."""

    pk: UUID
    messages: Sequence[ScriptMessage]
    system_prompt: str
    parameters: Mapping[str, object]

    @property
    def stored_bytes(self) -> int:
        texts = [self.system_prompt]
        for message in self.messages:
            texts += message.content, message.reasoning, message.refusal
        return len("".join(texts).encode()) + ROW_BYTES * len(self.messages)

    def charge_quota(self, user: User, hourly: TokenBucket) -> None:
        """Take what the script sent from the person's quota. Raises `Refused`."""
        charge_quota(user, self.stored_bytes, hourly)

    def store(self, person: int, answer: ApiAnswer) -> None:
        """Store the chat with its answer, in a transaction."""
        conversation = Conversation(
            pk=self.pk,
            user_id=person,
            title=Conversation.build_title(self.messages[0].content),
            stored_bytes=self.stored_bytes,
        )
        conversation.touch(answer.pk)
        settings = ChatSettings(conversation=conversation)
        settings.set_own(self.system_prompt, self.parameters)
        settings.store()
        sent_with = RequestSettings.create_for_script(
            conversation, self.system_prompt, self.parameters
        )
        messages = self._build_messages(conversation)
        reply = _build_reply(answer)
        reply.conversation, reply.parent = conversation, messages[-1]
        reply.request_settings = sent_with
        others = [reply.other_choice(choice, choice.ending) for choice in answer.choices[1:]]
        others = [
            message
            for message, of in zip(others, answer.choices[1:], strict=True)
            if of.has_arrived
        ]
        INSERT_MESSAGES.run(*messages, reply, *others)
        images = [image for message in (reply, *others) for image in message.image_rows()]
        ReplyImage.objects.bulk_create(images)

    def _build_messages(self, conversation: Conversation) -> list[Message]:
        messages: list[Message] = []
        for script_message in self.messages:
            message = Message(
                conversation=conversation,
                parent=messages[-1] if messages else None,
                role=Message.Role.USER if script_message.is_prompt else Message.Role.ASSISTANT,
                content=script_message.content,
                reasoning=script_message.reasoning,
                refusal=script_message.refusal,
                ending="" if script_message.is_prompt else Ending.COMPLETE,
            )
            messages.append(message)
        return messages


def _build_reply(answer: ApiAnswer) -> Message:
    reply = Message(
        pk=answer.pk,
        role=Message.Role.ASSISTANT,
        upstream=answer.upstream,
        model=answer.model,
        failed_models_record=[failed_model.as_record() for failed_model in answer.failed_models]
        or None,
        created_at=answer.asked_at,
        time_to_first_token=answer.first_token,
        duration=answer.duration,
    )
    reply.copy_progress(answer.choices[0])
    reply.finish(answer.choices[0], answer.ending)
    return reply
