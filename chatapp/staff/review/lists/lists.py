"""The list of the conversations that a reviewer may read, without any of their text."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import reviewers_only
from chatapp.models import Review, ReviewLabel, ReviewView, User
from chatapp.staff.review.finding.criteria import Show
from chatapp.staff.review.finding.filters import FilterForm
from chatapp.staff.review.finding.listings import record_listing
from chatapp.staff.review.finding.queue import find_matches
from chatapp.staff.review.lists.chips import build_chips
from chatapp.staff.review.lists.pages import load_page_keys
from chatapp.staff.review.lists.return_link import build_query
from chatapp.staff.review.lists.rows import Row, load_rows


@require_GET
@reviewers_only
def conversations(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = FilterForm(request.GET, reviewer=request.user, without_filter=Show.QUEUE)
    rows: list[Row] = []
    following = None
    if form.is_valid():
        record_listing(request, form)
        keys, following = load_page_keys(find_matches(form.criteria), form.position)
        rows = load_rows(keys, request.user)
    context = {
        "form": form,
        "rows": rows,
        "lists": Show.choices,
        "shown": form.selected_list,
        "sent": form.list_query,
        "is_filtered": form.is_filtered,
        "chips": list(build_chips(form)),
        "return_query": build_query(form) if form.is_valid() else "",
        "following": following,
        "search": form.is_valid() and form.cleaned_data["search"],
        "is_first": "after" not in request.GET,
        "labels": ReviewLabel.objects.all(),
        "verdicts": Review.Verdict.choices,
        "views": ReviewView.for_user(request.user),
        "sample": form.is_valid() and form.cleaned_data["sample"],
    }
    return render(request, "review/list.html", context)
