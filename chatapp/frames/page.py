"""Frames for what stands around the messages: the composer and the sidebar."""

from uuid import UUID, uuid4

from chatapp.frames.environment import draw
from chatapp.frames.swaps import replace, swap
from chatapp.models import Conversation, Message


def composer_frame(conversation: Conversation, head: Message) -> str:
    """Readies the composer for the prompt that follows `head`."""
    return draw(
        "chat/_composer_state.html",
        {"conversation": conversation, "head": head, "prompt_id": uuid4(), "oob": True, "gone": ""},
    )


def emptied_frame(gone: UUID, why: str) -> str:
    """The start of a new chat in place of a conversation that is gone, where the page shows it."""
    state = {"conversation": None, "head": None, "prompt_id": uuid4(), "oob": True}
    return (
        swap("innerHTML", "#messages")
        + replace("#title", draw("chat/_title.html", {"conversation": None}))
        + draw("chat/_composer_state.html", state | {"gone": gone})
        + problem_frame(why)
    )


def title_frame(conversation: Conversation) -> str:
    """The new title of a conversation, where the page shows it."""
    target = f"#title[data-conversation='{conversation.pk}']"
    return replace(target, draw("chat/_title.html", {"conversation": conversation}))


def row_gone_frame(conversation: UUID) -> str:
    """Takes a conversation that is gone out of the sidebar."""
    return swap("delete", f"#nav-{conversation}")


def problem_frame(text: str, prompt_id: UUID | None = None) -> str:
    """Says at the composer why a prompt was not taken; the page gives its text back."""
    return draw("chat/_problem.html", {"text": text, "prompt_id": prompt_id, "oob": True})


def sidebar_frame(conversation: Conversation, *, running: bool, first: bool = False) -> str:
    """Draws one conversation in the sidebar anew, below Today where it is `first`."""
    target = f"#nav-{conversation.pk}"
    link = draw("chat/_conversation_link.html", {"conversation": conversation, "running": running})
    if first:
        return swap("delete", target) + swap("after", "#today", link)
    return replace(target, link)
