"""A conversation as a whole: its owner renames it, and deletes it with all that is in it.

Both are posted by forms of the page. htmx gets what takes the place of the conversation's row in
the sidebar, or why nothing was done; whoever posts without it is sent to the page that shows it.
"""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from chatapp.chat.forms import RenameForm
from chatapp.models import Conversation, User
from chatapp.worker import worker


@require_POST
@login_required
def rename(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Answers with the row, or with a sentence (422) where the title is none."""
    conversation = _own(request, pk)
    form = RenameForm(request.POST)
    if not form.is_valid():
        reason = next(iter(form.errors.values()))[0]
        return HttpResponse(reason, status=422, content_type="text/plain; charset=utf-8")
    conversation.rename(form.asked)
    worker().conversation_changed(conversation.user_id, pk)
    if "HX-Request" not in request.headers:
        return redirect(conversation)
    running = conversation.messages.streaming().exists()
    row = {"conversation": conversation, "running": running}
    return render(request, "chat/_conversation_link.html", row)


@require_POST
@login_required
def delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Answers with nothing, as nothing takes the row's place."""
    conversation = _own(request, pk)
    conversation.erase()
    worker().conversation_changed(conversation.user_id, pk)
    return HttpResponse() if "HX-Request" in request.headers else redirect("chat")


def _own(request: HttpRequest, pk: UUID) -> Conversation:
    assert isinstance(request.user, User)
    conversation: Conversation = get_object_or_404(request.user.conversations, pk=pk)
    return conversation
