"""Puts into words that one model answers in place of another, and why."""

from collections.abc import Mapping

from chatapp.models import Message
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.rendering.fragments.endings import has_content
from chatapp.rendering.fragments.words import model_name
from chatapp.upstream.wire.errors.upstream_error import ErrorKind

FAILED: Mapping[str, str] = {
    ErrorKind.UNREACHABLE: "could not be reached",
    ErrorKind.UNAUTHORIZED: "refused its key",
    ErrorKind.RATE_LIMITED: "was rate-limited",
    ErrorKind.NOT_FOUND: "was not found",
    ErrorKind.SERVER_ERROR: "had a server error",
    ErrorKind.TIMED_OUT: "did not respond in time",
}


def failure(failed: FailedModel) -> str:
    """Return why a model did not answer: Opus was rate-limited."""
    return f"{failed.name} {FAILED.get(failed.kind, 'failed')}"


def fallback_sentence(reply: Message) -> str:
    """Return which model answered and why it was not the chosen one; "" if that one did."""
    if not reply.failed_models:
        return ""
    reasons = " and ".join(map(failure, reply.failed_models))
    name = model_name(reply)
    if has_content(reply):
        return f"Answered by {name} because {reasons}."
    return f"{name} was asked because {reasons}."


def waiting_text(reply: Message) -> str:
    """Return what a reply waits for while a fallback is asked."""
    return f"{failure(reply.failed_models[-1])}. Asking {model_name(reply)}…"
