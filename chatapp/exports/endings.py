"""Says of an answer that is not whole that it is not, and why."""

from chatapp.models import Message
from chatapp.models.conversations.messages.replies import NOT_CONTINUABLE
from chatapp.rendering.fragments.endings import build_notice

INCOMPLETE = "This answer is incomplete."
STREAMING = "This answer was still being written when it was exported."


def is_incomplete(message: Message) -> bool:
    """Whether the answer was cut off, or is still being written."""
    return message.is_streaming or message.ending not in NOT_CONTINUABLE


def ending_sentence(message: Message) -> str:
    """Return how the answer ended, if it did not end as whole; "" if it did."""
    if message.is_streaming:
        return STREAMING
    notice = build_notice(message)
    if notice is None:
        return ""
    sentence = f"{notice.text} “{notice.detail}”" if notice.detail else notice.text
    return f"{INCOMPLETE} {sentence}" if is_incomplete(message) else sentence
