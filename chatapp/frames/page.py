"""Frames for what stands around the messages: the composer and the sidebar."""

from uuid import UUID, uuid4

from django.template.loader import render_to_string

from chatapp.frames.swaps import replace, swap
from chatapp.models import Conversation, Message


def composer_frame(conversation: Conversation, head: Message) -> str:
    """Readies the composer for the prompt that follows `head`."""
    return render_to_string(
        "chat/_composer_state.html",
        {"conversation": conversation, "head": head, "prompt_id": uuid4(), "oob": True},
    )


def problem_frame(text: str, prompt_id: UUID | None = None) -> str:
    """Says at the composer why a prompt was not taken; the page gives its text back."""
    return render_to_string(
        "chat/_problem.html", {"text": text, "prompt_id": prompt_id, "oob": True}
    )


def sidebar_frame(conversation: Conversation, *, running: bool, first: bool = False) -> str:
    """Draws one conversation in the sidebar anew, at the top where it is `first`."""
    target = f"#nav-{conversation.pk}"
    link = render_to_string(
        "chat/_conversation_link.html", {"conversation": conversation, "running": running}
    )
    if first:
        return swap("delete", target) + swap("prepend", "#conversation-list", link)
    return replace(target, link)
