"""Saving a filter as a view, and drawing a random sample from its results."""

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
from chatapp.models.review.saved_views import MAX_NAME_LENGTH
from chatapp.staff.review.finding.filters import FilterForm
from chatapp.staff.review.finding.queue import find_matches
from chatapp.staff.review.forms import SentForm
from chatapp.text.decimals import DecimalField
from chatapp.text.visible import VisibleCharField

NAMELESS = {"required": "Enter a name first."}
MIN_PERCENT = Decimal("0.1")
TRIES = 3  # to draw a sample


class ViewForm(SentForm):
    name = VisibleCharField(max_length=MAX_NAME_LENGTH, error_messages=NAMELESS)
    is_shared = forms.BooleanField(required=False)


class SampleForm(SentForm):
    name = VisibleCharField(max_length=MAX_NAME_LENGTH, error_messages=NAMELESS)
    share = DecimalField(
        min_value=MIN_PERCENT,
        max_value=100,
        max_digits=4,
        decimal_places=1,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value", "max_decimal_places", "max_digits"),
            "Enter the percentage to draw, from 0.1 to 100.",
        ),
    )


@require_POST
@reviewers_only
def save_view(request: HttpRequest) -> HttpResponse:
    """Save a view. It replaces the reviewer's view with the same name."""
    assert isinstance(request.user, User)
    form = ViewForm(request.POST)
    filters = FilterForm(request.POST, reviewer=request.user)
    values = filters.saved_filters
    if not form.is_valid():
        messages.error(request, form.refusal)
    elif "person" in filters.errors:
        messages.error(request, "Nothing was saved, because no one has this name.")
    elif not filters.is_filtered:
        messages.error(request, "Filter the list first. A view saves the filter.")
    else:
        name, is_shared = form.cleaned_data["name"], form.cleaned_data["is_shared"]
        with transaction.atomic():
            view, _ = ReviewView.objects.update_or_create(
                maker=request.user, name=name, defaults={"filters": values, "is_shared": is_shared}
            )
            detail = {"asked": _build_audit_filters(filters)}
            audit.record("reviewview.saved", actor=request.user, about=view, detail=detail)
        messages.success(request, f"{view} was saved. Find it above the list.")
    return _to_list(values)


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
    filters = FilterForm(request.POST, reviewer=request.user)
    values = filters.saved_filters
    if not form.is_valid():
        messages.error(request, form.refusal)
        return _to_list(values)
    if not filters.is_valid():
        messages.error(request, "Nothing was drawn, because the filter has errors.")
        return _to_list(values)
    name, share = form.cleaned_data["name"], form.cleaned_data["share"]
    try:
        sample = _draw_and_record(name, share, filters, request.user)
    except Refused as refused:
        messages.error(request, str(refused))
        return _to_list(values)
    messages.success(
        request, f"{sample} has {sample.size:,} chat{'' if sample.size == 1 else 's'}."
    )
    return _to_list({"sample": str(sample.pk)})


def _draw_and_record(name: str, share: Decimal, filters: FilterForm, by: User) -> ReviewSample:
    """Draw and record a sample, again if a conversation is deleted meanwhile. Raises `Refused`."""
    for _ in range(TRIES):
        with suppress(IntegrityError), transaction.atomic():
            conversations = find_matches(filters.criteria).conversations().order_by()
            sample = ReviewSample.draw(name, share, conversations, by, filters.saved_filters)
            detail = {
                "asked": _build_audit_filters(filters),
                "share": str(share),
                "size": sample.size,
            }
            audit.record("reviewsample.drawn", actor=by, about=sample, detail=detail)
            return sample
    raise Refused("Chats are being deleted right now. Draw the sample again.")


@require_POST
@reviewers_only
def delete_sample(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a sample. Its conversations keep their reviews."""
    assert isinstance(request.user, User)
    with transaction.atomic():
        sample = get_object_or_404(ReviewSample, pk=pk)
        audit.record("reviewsample.deleted", actor=request.user, about=sample)
        sample.delete()
    messages.success(request, f"The sample {sample} was deleted.")
    return redirect("review")


def _build_audit_filters(form: FilterForm) -> dict[str, object]:
    """Return the audit log's form of the fields that are stored."""
    return {name: value for name, value in form.audit_filters.items() if name in form.saved_filters}


def _to_list(values: dict[str, str]) -> HttpResponse:
    return redirect(f"{reverse('review')}?{urlencode(values)}")
