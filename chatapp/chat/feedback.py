"""The view with which an owner rates a reply: thumbs up or down, and a note."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from chatapp.chat.bulk_actions import error_response, text_response
from chatapp.chat.page_forms import FeedbackForm
from chatapp.models import Feedback, Message, Refused, User
from chatapp.models.conversations.chats.locked_message import locked_message
from chatapp.models.conversations.messages.storage import charge_quota
from chatapp.realtime.worker import worker


@require_POST
@login_required
def give(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Save the rating and the note. Responds with the updated thumbs, or with a sentence (422).

    The note is unfolded unless it was just saved under an unchanged rating.
    """
    assert isinstance(request.user, User)
    get_object_or_404(Message.objects.for_user(request.user).only("pk"), pk=pk)
    form = FeedbackForm(request.POST)
    if not form.is_valid():
        return error_response(form)
    rating, note = form.rating_and_note
    try:
        reply, before, feedback = _save_rating(request.user, pk, rating, note)
    except Refused as error:
        return text_response(str(error), 422)
    if "HX-Request" not in request.headers:
        return redirect(reply.conversation)
    is_saved = feedback and before and before.rating == feedback.rating and note is not None
    context = {"message": reply, "feedback": feedback, "is_open": not is_saved}
    return render(request, "chat/_feedback.html", context)


@transaction.atomic
def _save_rating(
    user: User, pk: UUID, rating: Feedback.Rating | None, note: str | None
) -> tuple[Message, Feedback | None, Feedback | None]:
    """Save it and return the reply with its feedback before and after. Raises `Refused`."""
    reply = locked_message(user, pk)
    before = Feedback.objects.filter(message=reply).first()
    if note:
        hourly = worker().stored_bytes[user.pk]
        old = before.note_bytes if before else 0
        charge_quota(user, len(note.encode()), hourly, in_place_of=old)
    return reply, before, Feedback.give(reply, rating, note)
