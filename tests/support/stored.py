"""Prompts and replies as stored, without an upstream."""

from uuid import UUID, uuid4

from django.db import connection

from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models import Conversation, Fork, Message, Upstream, Usage, User
from chatapp.upstream.wire.events import AnswerDelta, ReasoningDelta
from chatapp.upstream.wire.reply import Ending, Reply

MODEL = "google/gemini-3-flash"


def begin_turn(
    conversation: Conversation, gateway: Upstream, text: str, parent: Message | None = None
) -> tuple[Message, Message]:
    """Store a prompt and a streaming reply, whose process does not exist."""
    prompt, reply = conversation.ask(
        uuid4(), text, parent.pk if parent else None, gateway, MODEL, uuid4()
    )
    return prompt, reply


def new_conversation(user: User, title: str = "Sky") -> Conversation:
    """Return a conversation that is not stored until its first prompt."""
    return Conversation(user=user, title=title)


def store_turn(
    conversation: Conversation, gateway: Upstream, text: str, after: Message | None = None
) -> tuple[Message, Message]:
    """Store a prompt and its complete reply."""
    prompt, reply = begin_turn(conversation, gateway, text, after)
    end(reply, build_reply(f"To {text}"))
    return prompt, reply


def fork_conversation(user: User, message: UUID, hourly: TokenBucket | None = None) -> Conversation:
    """Fork a conversation from this message, running all copy steps."""
    copying = Fork(message).begin(user, hourly or TokenBucket(0, 10**9))
    while not copying.step(user):
        pass
    return copying.conversation


def build_reply(answer: str, thought: str = "") -> Reply:
    reply = Reply()
    if thought:
        reply.apply(ReasoningDelta(thought))
    reply.apply(AnswerDelta(answer))
    return reply


def apply_reply(message: Message, reply: Reply) -> Message:
    """Apply the reply to the message as a checkpoint does."""
    message.copy_progress(reply)
    return message


def end(
    message: Message,
    reply: Reply,
    ending: Ending = Ending.COMPLETE,
    usage: Usage | None = None,
    others: tuple[Message, ...] = (),
) -> None:
    apply_reply(message, reply).finish(reply, ending)
    message.save_reply(usage or Usage.from_tokens(Usage.Provenance.UNKNOWN, None), others)


async def load_reply(reply: UUID) -> Message:
    """Return the message as the database has it now."""
    return await Message.objects.select_related("usage", "parent", "conversation").aget(pk=reply)


def wait_until_somebody_waits() -> None:
    """Wait until another transaction waits for this one; on SQLite it always does."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    )
    while connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            if cursor.execute(waiting).fetchone() != (0,):
                return
