"""What a reviewer keeps of what the filter finds: as a view, or a random sample of it."""

from contextlib import suppress
from decimal import Decimal

from django import forms
from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from chatapp.accounts.staff import reviewers_only
from chatapp.models import Refused, ReviewSample, ReviewView, User, audit
from chatapp.models.review_finds import LONGEST_NAME
from chatapp.staff.review.filters import FilterForm
from chatapp.staff.review.forms import SentForm
from chatapp.text.visible import SeenField

NAMELESS = {"required": "Give it a name first."}
SMALLEST = Decimal("0.1")
TRIES = 3  # of a draw


class ViewForm(SentForm):
    name = SeenField(max_length=LONGEST_NAME, error_messages=NAMELESS)
    is_shared = forms.BooleanField(required=False)


class SampleForm(SentForm):
    name = SeenField(max_length=LONGEST_NAME, error_messages=NAMELESS)
    share = forms.DecimalField(
        min_value=SMALLEST,
        max_value=100,
        max_digits=4,
        decimal_places=1,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value", "max_decimal_places", "max_digits"),
            "Say how many per cent are drawn, from 0.1 to 100.",
        ),
    )


@require_POST
@reviewers_only
def save_view(request: HttpRequest) -> HttpResponse:
    """Under a name that a view of this reviewer has, it takes that one's place."""
    assert isinstance(request.user, User)
    form = ViewForm(request.POST)
    wanted = FilterForm(request.POST, reviewer=request.user)
    asked = wanted.kept
    if not form.is_valid():
        messages.error(request, form.refusal)
    elif "person" in wanted.errors:
        messages.error(request, "Nothing was saved, since nobody has this name.")
    elif not asked:
        messages.error(request, "Narrow the list first: a view keeps what it is narrowed by.")
    else:
        name, is_shared = form.cleaned_data["name"], form.cleaned_data["is_shared"]
        with transaction.atomic():
            view, _ = ReviewView.objects.update_or_create(
                maker=request.user, name=name, defaults={"asked": asked, "is_shared": is_shared}
            )
            detail = {"asked": _recorded(wanted)}
            audit.record("reviewview.saved", actor=request.user, about=view, detail=detail)
        messages.success(request, f"{view} is saved, and stands above the list.")
    return _to_list(asked)


@require_POST
@reviewers_only
def delete_view(request: HttpRequest, pk: int) -> HttpResponse:
    assert isinstance(request.user, User)
    with transaction.atomic():
        view = get_object_or_404(ReviewView, pk=pk, maker=request.user)
        audit.record("reviewview.deleted", actor=request.user, about=view)
        view.delete()
    messages.success(request, f"The view {view} was deleted.")
    return redirect("review")


@require_POST
@reviewers_only
def draw_sample(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = SampleForm(request.POST)
    wanted = FilterForm(request.POST, reviewer=request.user)
    asked = wanted.kept
    if not form.is_valid():
        messages.error(request, form.refusal)
        return _to_list(asked)
    if not wanted.is_valid():
        messages.error(request, "Nothing was drawn, since not all of the filter is understood.")
        return _to_list(asked)
    name, share = form.cleaned_data["name"], form.cleaned_data["share"]
    try:
        drawn = _drawn(name, share, wanted, request.user)
    except Refused as refused:
        messages.error(request, str(refused))
        return _to_list(asked)
    messages.success(request, f"{drawn} has {drawn.size:,} conversations.")
    return _to_list({"sample": str(drawn.pk)})


def _drawn(name: str, share: Decimal, wanted: FilterForm, by: User) -> ReviewSample:
    """Raises `Refused`. A conversation that is deleted while it is drawn is not found again."""
    for _ in range(TRIES):
        with suppress(IntegrityError), transaction.atomic():
            found = wanted.asked.conversations().order_by()
            drawn = ReviewSample.draw(name, share, found, by, wanted.kept)
            detail = {"asked": _recorded(wanted), "share": str(share), "size": drawn.size}
            audit.record("reviewsample.drawn", actor=by, about=drawn, detail=detail)
            return drawn
    raise Refused("Conversations are being deleted just now. Draw the sample again.")


@require_POST
@reviewers_only
def delete_sample(request: HttpRequest, pk: int) -> HttpResponse:
    """Its conversations keep their reviews."""
    assert isinstance(request.user, User)
    with transaction.atomic():
        sample = get_object_or_404(ReviewSample, pk=pk)
        audit.record("reviewsample.deleted", actor=request.user, about=sample)
        sample.delete()
    messages.success(request, f"The sample {sample} was deleted.")
    return redirect("review")


def _recorded(form: FilterForm) -> dict[str, object]:
    """Of what is kept."""
    return {name: value for name, value in form.recorded.items() if name in form.kept}


def _to_list(asked: dict[str, str]) -> HttpResponse:
    return redirect(f"{reverse('review')}?{urlencode(asked)}")
