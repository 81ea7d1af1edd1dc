"""What an owner does with conversations as a whole: renamed, pinned, put away and brought back.

All of it is posted by the page. htmx gets a row or a sentence, or why nothing was done (422);
whoever posts without it is sent to a page. What is somebody else's is as if it were not there.
"""

from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from chatapp.chat.page_forms import ChangeForm, RenameForm
from chatapp.models import Conversation, Refused, User, temporary
from chatapp.models.conversation_querysets import ConversationQuerySet
from chatapp.models.legal_holds import KEPT
from chatapp.worker import worker

# What is told once it is done.
DONE = {
    "pin": "Pinned.",
    "unpin": "Unpinned.",
    "archive": "Archived.",
    "unarchive": "Back from the archive.",
    "trash": "Moved to the trash.",
    "restore": "Restored.",
    "discard": "Deleted for good.",
    "empty": "The trash is empty.",
    "move": "Moved.",
}


STAY = "Kept in the trash because of a legal hold, and not to be erased until that is ended: {}."


@require_POST
@login_required
def rename(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Answers with the row, or with a sentence (422) where the title is none."""
    assert isinstance(request.user, User)
    conversation: Conversation = get_object_or_404(request.user.conversations.kept(), pk=pk)
    form = RenameForm(request.POST)
    if not form.is_valid():
        return refused(form)
    conversation.rename(form.asked)
    worker().conversation_changed(conversation.user_id, pk)
    if "HX-Request" not in request.headers:
        return redirect(conversation)
    running = conversation.messages.streaming().exists()
    row = {"conversation": conversation, "running": running}
    return render(request, "chat/_conversation_link.html", row)


@require_POST
@login_required
def keep(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Makes a temporary conversation an ordinary one."""
    assert isinstance(request.user, User)
    conversation: Conversation = get_object_or_404(request.user.conversations.kept(), pk=pk)
    temporary.keep(conversation)
    worker().conversation_changed(conversation.user_id, pk)
    return HttpResponse(status=204) if "HX-Request" in request.headers else redirect(conversation)


@require_POST
@login_required
def change(request: HttpRequest) -> HttpResponse:
    """Does one thing to one conversation or to hundreds; answers with what was done."""
    assert isinstance(request.user, User)
    form = ChangeForm(request.POST, user=request.user)
    if not form.is_valid():
        return refused(form)
    action = form.cleaned_data["action"]
    try:
        count = _do(action, form)
    except Refused as why:
        return told(str(why), 422)
    if (kept := _held(action, form)) and not count:
        return told(KEPT, 422)
    if not count:
        return told("This is not here any more.", 404)
    worker().list_changed(request.user.pk)
    if action in ("discard", "empty"):
        worker().has_to_delete()
    if "HX-Request" not in request.headers:
        return redirect("chat")
    words = DONE["discard" if kept else action]  # the trash is not empty then
    done = words if count == 1 else f"{count} conversations: {words.lower()}"
    return told(f"{done} {STAY.format(kept)}" if kept else done)


def _held(action: str, form: ChangeForm) -> int:
    """How many of what was to be erased a legal hold keeps."""
    own: ConversationQuerySet = form.user.conversations.trashed()
    if action == "empty":
        return own.held().count()
    return form.chosen.trashed().held().count() if action == "discard" else 0


def _do(action: str, form: ChangeForm) -> int:
    chosen: ConversationQuerySet = form.chosen
    if action == "empty":
        return form.user.conversations.trashed().discard()
    if action == "move":
        return chosen.kept().update(project=form.cleaned_data["project"])
    if action in ("restore", "discard"):
        return int(getattr(chosen, action)())
    return int(getattr(chosen.kept(), action)())


def refused(form: forms.Form) -> HttpResponse:
    """Why a form was not taken."""
    return told(str(next(iter(form.errors.values()))[0]), 422)


def told(sentence: str, status: int = 200) -> HttpResponse:
    return HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8")
