"""The list of the conversations that a reviewer may read, without any of their text."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import reviewers_only
from chatapp.models import Review, ReviewLabel, ReviewView, User
from chatapp.staff.review.chips import chips_of
from chatapp.staff.review.criteria import Show
from chatapp.staff.review.filters import FilterForm
from chatapp.staff.review.listings import record_listing
from chatapp.staff.review.pages import page_of
from chatapp.staff.review.queue import found_by
from chatapp.staff.review.return_link import query_of
from chatapp.staff.review.rows import Row, rows_of


@require_GET
@reviewers_only
def conversations(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = FilterForm(request.GET, reviewer=request.user, without_filter=Show.QUEUE)
    rows: list[Row] = []
    following = None
    if form.is_valid():
        record_listing(request, form)
        keys, following = page_of(found_by(form.parsed), form.position)
        rows = rows_of(keys, request.user)
    context = {
        "form": form,
        "rows": rows,
        "lists": Show.choices,
        "shown": form.shown,
        "sent": form.listed,
        "is_filtered": form.is_filtered,
        "chips": list(chips_of(form)),
        "return_query": query_of(form) if form.is_valid() else "",
        "following": following,
        "search": form.is_valid() and form.cleaned_data["search"],
        "is_first": "after" not in request.GET,
        "labels": ReviewLabel.objects.all(),
        "verdicts": Review.Verdict.choices,
        "views": ReviewView.of(request.user),
        "sample": form.is_valid() and form.cleaned_data["sample"],
    }
    return render(request, "review/list.html", context)
