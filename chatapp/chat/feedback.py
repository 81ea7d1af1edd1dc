"""What an owner thinks of a reply: a thumb up or down, and a note."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from chatapp.chat.keeping import refused, told
from chatapp.chat.page_forms import FeedbackForm
from chatapp.models import Feedback, Message, Refused, User


@require_POST
@login_required
@transaction.atomic
def give(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Answers with the thumbs as they stand now, where one is new with the note unfolded; or with a
    sentence (422) where nothing was done."""
    assert isinstance(request.user, User)
    # Held, so that it is not deleted meanwhile.
    own = Message.objects.of(request.user).select_for_update(of=("self",), no_key=True)
    own = own.select_related("conversation", "feedback").defer("logprobs")
    reply = get_object_or_404(own, pk=pk)
    form = FeedbackForm(request.POST)
    if not form.is_valid():
        return refused(form)
    before, (rating, note) = reply.known_feedback, form.asked
    try:
        given = Feedback.give(reply, rating, note)
    except Refused as why:
        return told(str(why), 422)
    if "HX-Request" not in request.headers:
        return redirect(reply.conversation)
    is_saved = given and before and before.rating == given.rating and note is not None
    context = {"message": reply, "feedback": given, "is_open": not is_saved}
    return render(request, "chat/_feedback.html", context)
