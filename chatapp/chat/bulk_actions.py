"""Views with which people organise their conversations: rename, pin, archive, trash, restore, move.

All are POST. htmx gets a row or a sentence, or a reason (422) if nothing was done; a request
without htmx is redirected to a page. Other people's conversations count as missing.
"""

from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from chatapp.chat.page_forms import ChangeForm, RenameForm
from chatapp.models import Conversation, Refused, User
from chatapp.models.conversations.chats import temporary
from chatapp.models.conversations.chats.conversation import ConversationQuerySet
from chatapp.models.policies.legal_holds import UNDER_HOLD
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments

# The sentence shown for each action. After a number of chats it goes on in lower case.
DONE_SENTENCES = {
    "pin": "Pinned.",
    "unpin": "Unpinned.",
    "archive": "Archived.",
    "unarchive": "Unarchived.",
    "trash": "Moved to the trash.",
    "restore": "Restored.",
    "discard": "Deleted permanently.",
    "empty": "Deleted permanently.",
    "move": "Moved.",
}


KEPT_BY_HOLD = "Kept in the trash until their legal hold ends: {}."


@require_POST
@login_required
def rename(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Set the title. Responds with the sidebar row, or with a sentence (422) if it is invalid."""
    assert isinstance(request.user, User)
    conversation: Conversation = get_object_or_404(request.user.conversations.not_trashed(), pk=pk)
    form = RenameForm(request.POST)
    if not form.is_valid():
        return error_response(form)
    conversation.rename(form.new_title)
    worker().conversation_changed(conversation.user_id, pk)
    if "HX-Request" not in request.headers:
        return redirect(conversation)
    running = conversation.messages.streaming().exists()
    return HttpResponse(fragments.conversation_row(conversation, is_running=running))


@require_POST
@login_required
def keep(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Turn a temporary conversation into an ordinary one."""
    assert isinstance(request.user, User)
    conversation: Conversation = get_object_or_404(request.user.conversations.not_trashed(), pk=pk)
    temporary.make_permanent(conversation)
    worker().conversation_changed(conversation.user_id, pk)
    return HttpResponse(status=204) if "HX-Request" in request.headers else redirect(conversation)


@require_POST
@login_required
def change(request: HttpRequest) -> HttpResponse:
    """Apply one action to one or more conversations. Responds with what was done."""
    assert isinstance(request.user, User)
    form = ChangeForm(request.POST, user=request.user)
    if not form.is_valid():
        return error_response(form)
    action = form.cleaned_data["action"]
    try:
        count = _apply(action, form)
    except Refused as error:
        return text_response(str(error), 422)
    if (held_count := _count_held(action, form)) and not count:
        return text_response(UNDER_HOLD, 422)
    if not count:
        return text_response("This no longer exists.", 404)
    worker().list_changed(request.user.pk)
    if action in ("discard", "empty"):
        worker().schedule_purge()
    if "HX-Request" not in request.headers:
        return redirect("chat")
    sentence = _sentence(action, form)
    done = sentence if count == 1 else f"{count} chats {sentence[0].lower()}{sentence[1:]}"
    return text_response(f"{done} {KEPT_BY_HOLD.format(held_count)}" if held_count else done)


def _sentence(action: str, form: ChangeForm) -> str:
    project = form.cleaned_data["project"] if action == "move" else None
    if project and project.is_shared:
        return f"Moved. The members of “{project}” can read it."
    return DONE_SENTENCES[action]


def _count_held(action: str, form: ChangeForm) -> int:
    """Return how many conversations to be erased a legal hold keeps."""
    own: ConversationQuerySet = form.user.conversations.trashed()
    if action == "empty":
        return own.under_legal_hold().count()
    return form.selected_chats.trashed().under_legal_hold().count() if action == "discard" else 0


def _apply(action: str, form: ChangeForm) -> int:
    """Apply the action and return how many conversations it changed; raises `Refused`."""
    chosen: ConversationQuerySet = form.selected_chats
    if action == "empty":
        return form.user.conversations.trashed().discard()
    if action == "move":
        return chosen.not_trashed().update(project=form.cleaned_data["project"])
    if action in ("restore", "discard"):
        return int(getattr(chosen, action)())
    return int(getattr(chosen.not_trashed(), action)())


def error_response(form: forms.Form) -> HttpResponse:
    """Return an invalid form's first error as a 422 response."""
    return text_response(str(next(iter(form.errors.values()))[0]), 422)


def text_response(sentence: str, status: int = 200) -> HttpResponse:
    return HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8")
