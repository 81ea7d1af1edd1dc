"""Frames for what is around the messages: the composer, the title and the sidebar."""

from uuid import UUID, uuid4

from chatapp.models import ChatSettings, Conversation, DeletionResult, Message, ReviewPolicy
from chatapp.models.billing.quota_usage import LimitWarning
from chatapp.models.refusals import OverLimit
from chatapp.rendering.fragments.environment import draw
from chatapp.rendering.fragments.rows import conversation_row
from chatapp.rendering.fragments.swaps import replace, swap

_SETTINGS = {
    "preset-chip": "chat/_preset_chip.html",
    "settings-state": "chat/_settings_state.html",
}


def composer_fragment(
    conversation: Conversation, head: Message | None, used_tokens: int | None = None
) -> str:
    """Set up the composer for the prompt that follows `head`, or for the first one.

    `used_tokens` is the size of the chat if the usage of its last reply does not say it.
    """
    state = {"conversation": conversation, "head": head, "used_tokens": used_tokens}
    return draw(
        "chat/_composer_state.html", state | {"prompt_id": uuid4(), "oob": True, "gone": ""}
    )


def limit_note_fragment(warning: LimitWarning | None) -> str:
    """Say that a limit is nearly used up, or remove that note."""
    return draw("chat/_limit_note.html", {"limit_warning": warning, "oob": True})


def policy_fragment(policy: ReviewPolicy, conversation: Conversation) -> str:
    """Say at the composer what reviewers may read of the conversation on the page."""
    return replace("#policy-note", _policy_note(policy, conversation))


def new_policy_fragment(policy: ReviewPolicy) -> str:
    """Say at the composer of a new chat what reviewers may read of it."""
    return replace("#policy-note[data-conversation='']", _policy_note(policy, None))


def _policy_note(policy: ReviewPolicy, conversation: Conversation | None) -> str:
    return draw("chat/_policy_note.html", {"policy": policy, "conversation": conversation})


def emptied_fragment(gone: UUID, why: str, policy: ReviewPolicy) -> str:
    """Show a new chat in place of a deleted conversation, if the page shows it, and say why."""
    state = {"conversation": None, "head": None, "prompt_id": uuid4(), "oob": True}
    state["used_tokens"] = None
    unset = {"conversation": None, "preset": None, "settings": ChatSettings(), "may_choose": True}
    return (
        swap("innerHTML", "#messages")
        + swap("innerHTML", "#summary-progress")
        + replace("#title", draw("chat/_title.html", {"conversation": None}))
        + "".join(
            replace(f"#{name}", draw(template, unset)) for name, template in _SETTINGS.items()
        )
        + draw("chat/_composer_state.html", state | {"gone": gone})
        + replace("#policy-note", _policy_note(policy, None))
        + problem_fragment(why)
    )


def title_fragment(conversation: Conversation) -> str:
    """Update the title, if the page shows this conversation."""
    target = f"#title[data-conversation='{conversation.pk}']"
    return replace(target, draw("chat/_title.html", {"conversation": conversation}))


def settings_fragment(settings: ChatSettings, *, may_choose: bool) -> str:
    """Update what the page shows of a chat's settings, if it shows this conversation.

    `may_choose` says whether the person may see and change them.
    """
    conversation = settings.conversation
    context = {
        "conversation": conversation,
        "preset": settings.preset,
        "settings": settings,
        "may_choose": may_choose,
    }
    return "".join(
        replace(f"#{name}[data-conversation='{conversation.pk}']", draw(template, context))
        for name, template in _SETTINGS.items()
    )


def row_gone_fragment(conversation: UUID) -> str:
    """Remove a conversation from the sidebar."""
    return swap("delete", f"#nav-{conversation}")


def deleted_fragment(deleted: DeletionResult, head: UUID | None) -> str:
    """Offer to restore what was deleted, and to return to `head`, the last message shown then."""
    html = draw("chat/_undo.html", {"deleted": deleted, "head": head})
    return swap("innerHTML", "#undo", html)


def restored_fragment() -> str:
    """Remove the offer to undo a deletion."""
    return swap("innerHTML", "#undo")


def summary_progress_fragment(conversation: UUID, model: str, words: int) -> str:
    """Say that a model is writing a summary of the conversation, if the page shows it."""
    state = {"conversation": conversation, "model": model, "words": words}
    html = draw("chat/_summary_progress.html", state)
    return swap("innerMorph", _progress_in(conversation), html)


def summary_ended_fragment(conversation: UUID, note: str = "") -> str:
    """Remove what says that a summary is being written, and show the note at the composer."""
    removal = swap("innerHTML", _progress_in(conversation))
    return removal + problem_fragment(note) if note else removal


def _progress_in(conversation: UUID) -> str:
    return f"#composer-state[data-conversation='{conversation}']~#summary-progress"


def onward_fragment(conversation: Conversation) -> str:
    """Make the page go to another conversation."""
    return swap(
        "innerHTML", "#onward", draw("chat/_open_conversation.html", {"conversation": conversation})
    )


def problem_fragment(
    text: str, prompt_id: UUID | None = None, over_limit: OverLimit | None = None
) -> str:
    """Say at the composer why a prompt was refused, so that the page restores its text.

    An empty `text` removes the message.
    """
    state = {"text": text, "prompt_id": prompt_id, "over_limit": over_limit, "oob": True}
    return draw("chat/_problem.html", state)


def sidebar_fragment(conversation: Conversation, *, running: bool, first: bool = False) -> str:
    """Redraw a conversation's row in its list, at the top of its group if `first`.

    Temporary conversations are in no list, so their frame is empty.
    """
    if conversation.is_temporary:
        return ""
    target = f"#nav-{conversation.pk}"
    link = conversation_row(conversation, is_running=running)
    if first and not conversation.archived_at:
        return swap("delete", target) + swap("after", _get_heading_selector(conversation), link)
    return replace(target, link)


def _get_heading_selector(conversation: Conversation) -> str:
    """Return the selector of the heading above its row; a page without its list has none."""
    group = "pinned" if conversation.is_pinned else "today"
    return f"#{group}-in-{conversation.project_id}" if conversation.project_id else f"#{group}"


def ended_fragment(conversation: UUID) -> str:
    """Remove the mark of a running reply from a conversation's row."""
    return swap("delete", f"#running-{conversation}")


def list_fragment() -> str:
    """Make static/js/sidebar/conversation-list.js reload the lists, because rows have moved."""
    return replace("#list-state", draw("chat/_list_state.html", {}))


def draft_fragment(conversation: UUID | None) -> str:
    """Make static/js/files/attachments.js reload the attachments, if the page shows this draft."""
    return replace("#draft-state", draw("files/_draft_state.html", {"changed": conversation or ""}))
