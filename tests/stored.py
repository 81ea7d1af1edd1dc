"""Replies as they are stored, without an upstream."""

from chatapp.models import Message, Usage
from chatapp.upstream.events import AnswerDelta, ReasoningDelta
from chatapp.upstream.reply import Ending, Reply


def reply_of(answer: str, thought: str = "") -> Reply:
    reply = Reply()
    if thought:
        reply.apply(ReasoningDelta(thought))
    reply.apply(AnswerDelta(answer))
    return reply


def growing(message: Message, reply: Reply) -> Message:
    """The message as a checkpoint takes it."""
    message.take(reply)
    return message


def end(
    message: Message,
    reply: Reply,
    ending: Ending = Ending.COMPLETE,
    usage: Usage | None = None,
    others: tuple[Message, ...] = (),
) -> None:
    growing(message, reply).finish(reply, ending)
    message.save_reply(usage or Usage.counted(Usage.Provenance.UNKNOWN, None), others)
