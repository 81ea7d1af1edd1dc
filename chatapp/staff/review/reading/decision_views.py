"""Views for a reviewer's decisions about one conversation.

A decision sent from a page that is out of date, because another reviewer has changed the review, is
refused with a message that says what was changed.
"""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from chatapp.accounts.staff import reviewers_only
from chatapp.db.primary_keys import parse_pk
from chatapp.models import Conversation, Refused, Review, ReviewLabel, User, audit
from chatapp.models.review.readable import reviewable
from chatapp.sessions.idle_sessions import ignore_request
from chatapp.staff.review import decisions
from chatapp.staff.review.decisions import ActResult
from chatapp.staff.review.forms import NoteForm
from chatapp.staff.review.lists.return_link import ReturnLink, back_to
from chatapp.staff.review.names import Names
from chatapp.staff.review.reading.history import describe_last_acts
from chatapp.staff.review.reading.reading import conversation_page
from chatapp.staff.review.unopened import ALL, ANSWER, find_unopened, render_question

DELETED_MEANWHILE = (
    "Nothing was saved, because something this refers to was just deleted. Check the page and try "
    "again."
)
Act = Callable[[HttpRequest, Review, User], ActResult]


def _decision_view(
    act: Act, then: Callable[[HttpRequest, UUID], HttpResponse] = back_to
) -> Callable[..., HttpResponseBase]:
    """Return the view for an act, which records the action and detail that the act returns.

    `then` makes the response if the act was done.
    """

    @require_POST
    @reviewers_only
    @wraps(act)
    def view(request: HttpRequest, pk: UUID) -> HttpResponse:
        assert isinstance(request.user, User)
        try:
            with transaction.atomic():
                # A concurrent deletion waits for this transaction, or this one for the deletion.
                existing = reviewable().select_for_update(no_key=True, of=("self",))
                conversation = get_object_or_404(existing, pk=pk)
                review = Review.get_for_update(conversation.pk)
                _refuse_old_page(request, review, request.user)
                action, detail = act(request, review, request.user)
                audit.record(action, actor=request.user, about=conversation, detail=detail)
        except Refused as refused:
            messages.error(request, str(refused))
            if typed := request.POST.get("text"):  # keep the text of a note
                form = NoteForm(initial={"text": typed, "message": request.POST.get("message")})
                return conversation_page(request, pk, form, HTTPStatus.CONFLICT)
        except IntegrityError:  # at commit: a label or a message is gone
            messages.error(request, DELETED_MEANWHILE)
        else:
            return then(request, pk)
        return back_to(request, pk)

    return view


def _refuse_old_page(request: HttpRequest, review: Review, reviewer: User) -> None:
    """Raise `Refused`, saying who did what, if the review has changed since the page was drawn."""
    sent = request.POST.get("version", "")
    if sent == str(review.version):
        return
    missed = max(review.version - parse_pk(sent), 0)
    names = Names.of(review.conversation, reviewer, None)
    recent = describe_last_acts(review.conversation, names, missed)
    changes = f" What changed: {recent}." if recent else ""
    raise Refused(
        f"Nothing was saved, because this chat's review has changed.{changes} Check the page and "
        "try again."
    )


@_decision_view
def claim(_request: HttpRequest, review: Review, by: User) -> ActResult:
    return decisions.claim(review, by)


@_decision_view
def release(_request: HttpRequest, review: Review, by: User) -> ActResult:
    return decisions.release(review, by)


@require_POST
@reviewers_only
def verdict(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Set the verdict, or remove it if it is the present one. Ask first if it was not opened."""
    assert isinstance(request.user, User)
    requested_verdict = request.POST.get("verdict", "")
    is_set = (
        requested_verdict in Review.Verdict
        and not Review.objects.filter(pk=pk, verdict=requested_verdict).exists()
    )
    if is_set and request.POST.get(ANSWER) != ALL and find_unopened([pk], request.user):
        back = reverse("review-conversation", args=[pk]) + ReturnLink.of(request).query
        return render_question(request, 1, 1, back)
    return _decision_view(_decide, _to_next)(request, pk)


def _decide(request: HttpRequest, review: Review, by: User) -> ActResult:
    requested_verdict = decisions.parse_verdict(request.POST.get("verdict", ""))
    return decisions.decide(
        review, by, "" if requested_verdict == review.verdict else requested_verdict
    )


def _to_next(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Redirect to the next chat of the queue, or to its list, if the reviewer came from there."""
    link = ReturnLink.of(request)
    decided = Conversation.objects.filter(pk=pk).exclude(review__verdict="").first()
    if not (link.is_of_queue and decided):
        return back_to(request, pk)
    verdict = decided.review.get_verdict_display()
    messages.success(request, f"Saved: {verdict}. The chat is now under “Decided”.")
    below, _ = link.find_neighbours(decided)
    return back_to(request, below) if below else redirect(link.list_address)


@_decision_view
def labels(request: HttpRequest, review: Review, _by: User) -> ActResult:
    sent = list(map(parse_pk, request.POST.getlist("labels")))
    chosen = ReviewLabel.objects.filter(pk__in=sent)
    return decisions.label(review, chosen)


@_decision_view
def note(request: HttpRequest, review: Review, by: User) -> ActResult:
    form = NoteForm(request.POST)
    if not form.is_valid():
        raise Refused(form.refusal)
    message = form.cleaned_data["message"]
    existing = review.conversation.messages.filter(deleted_at=None)
    if message and not existing.filter(pk=message).exists():
        raise Refused("The message no longer exists. Add the note without it.")
    review.note(form.cleaned_data["text"], by, message)
    return "review.noted", {}


@require_GET
@reviewers_only
def changes(request: HttpRequest, pk: UUID) -> JsonResponse:
    """Return in words the last change since a version of the review; {"told": ""} if none."""
    assert isinstance(request.user, User)
    ignore_request(request)
    conversation = get_object_or_404(reviewable(), pk=pk)
    review = Review.objects.filter(pk=conversation.pk).first()
    is_same = request.GET.get("version") == str(review.version if review else 0)
    act = (
        ""
        if is_same
        else describe_last_acts(conversation, Names.of(conversation, request.user, None), 1)
    )
    return JsonResponse({"told": act and f"{act}. Reload to see it."})
