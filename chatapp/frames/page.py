"""Frames for what stands around the messages: the composer and the sidebar."""

from uuid import UUID, uuid4

from chatapp.frames.environment import draw
from chatapp.frames.swaps import replace, swap
from chatapp.models import Conversation, Deleted, Message, ReviewPolicy
from chatapp.models.meters import Meter


def composer_frame(conversation: Conversation, head: Message | None) -> str:
    """Readies the composer for the prompt that follows `head`, or is the first one."""
    return draw(
        "chat/_composer_state.html",
        {"conversation": conversation, "head": head, "prompt_id": uuid4(), "oob": True, "gone": ""},
    )


def limit_note_frame(near: Meter | None) -> str:
    """Says that most of a limit is used, or takes that back."""
    return draw("chat/_limit_note.html", {"near": near, "oob": True})


def policy_frame(policy: ReviewPolicy, conversation: Conversation) -> str:
    """Says at the composer what reviewers may read of the conversation that the page shows."""
    return replace("#policy-note", _policy_note(policy, conversation))


def new_policy_frame(policy: ReviewPolicy) -> str:
    """The same of one that is begun now, where the page shows none yet."""
    return replace("#policy-note[data-conversation='']", _policy_note(policy, None))


def _policy_note(policy: ReviewPolicy, conversation: Conversation | None) -> str:
    return draw("chat/_policy_note.html", {"policy": policy, "conversation": conversation})


def emptied_frame(gone: UUID, why: str, policy: ReviewPolicy) -> str:
    """The start of a new chat in place of a conversation that is gone, where the page shows it."""
    state = {"conversation": None, "head": None, "prompt_id": uuid4(), "oob": True}
    return (
        swap("innerHTML", "#messages")
        + replace("#title", draw("chat/_title.html", {"conversation": None}))
        + draw("chat/_composer_state.html", state | {"gone": gone})
        + replace("#policy-note", _policy_note(policy, None))
        + problem_frame(why)
    )


def title_frame(conversation: Conversation) -> str:
    """The new title of a conversation, where the page shows it."""
    target = f"#title[data-conversation='{conversation.pk}']"
    return replace(target, draw("chat/_title.html", {"conversation": conversation}))


def row_gone_frame(conversation: UUID) -> str:
    """Takes a conversation that is gone out of the sidebar."""
    return swap("delete", f"#nav-{conversation}")


def deleted_frame(deleted: Deleted, head: UUID | None) -> str:
    """Offers to bring back what was deleted, and the branch to `head` that was shown then."""
    drawn = draw("chat/_undo.html", {"deleted": deleted, "head": head})
    return swap("innerHTML", "#undo", drawn)


def restored_frame() -> str:
    """Offers that no longer."""
    return swap("innerHTML", "#undo")


def onward_frame(conversation: Conversation) -> str:
    """Leads the page to another conversation."""
    return swap("innerHTML", "#onward", draw("chat/_onward.html", {"conversation": conversation}))


def problem_frame(text: str, prompt_id: UUID | None = None) -> str:
    """Says at the composer why a prompt was not taken; the page gives its text back."""
    return draw("chat/_problem.html", {"text": text, "prompt_id": prompt_id, "oob": True})


def sidebar_frame(conversation: Conversation, *, running: bool, first: bool = False) -> str:
    """Draws one conversation in its list anew, at the top of its group where it is `first`; a
    temporary one is in none."""
    if conversation.is_temporary:
        return ""
    target = f"#nav-{conversation.pk}"
    link = draw("chat/_conversation_link.html", {"conversation": conversation, "running": running})
    if first and not conversation.archived_at:
        return swap("delete", target) + swap("after", _top_of(conversation), link)
    return replace(target, link)


def _top_of(conversation: Conversation) -> str:
    """The heading below which it comes to stand; a page without its list has none such."""
    group = "pinned" if conversation.is_pinned else "today"
    return f"#{group}-in-{conversation.project_id}" if conversation.project_id else f"#{group}"


def ended_frame(conversation: UUID) -> str:
    """Takes the mark of a running reply from a conversation's row, which stays as it is."""
    return swap("delete", f"#running-{conversation}")


def list_frame() -> str:
    """Has static/js/conversation-list.js ask for the lists, since rows stand elsewhere now."""
    return replace("#list-state", draw("chat/_list_state.html", {}))
