"""Text search in the review. It needs a reason and is recorded before results are shown."""

from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from chatapp.accounts.staff import reviewers_only
from chatapp.models import ReviewSearch, User, audit
from chatapp.models.review.reviews import MAX_REASON_LENGTH
from chatapp.models.search.review_searches import MAX_SEARCH_LENGTH
from chatapp.staff.review.finding.filters import FilterForm
from chatapp.staff.review.forms import SentForm
from chatapp.text.indexing import terms
from chatapp.text.visible import VisibleCharField


class WordsForm(SentForm):
    words = forms.CharField(
        max_length=MAX_SEARCH_LENGTH,
        error_messages={"required": "Enter the words to search for."},
    )
    reason = VisibleCharField(
        max_length=MAX_REASON_LENGTH,
        error_messages={"required": "Enter a reason first."},
    )

    def clean_words(self) -> str:
        words: str = self.cleaned_data["words"]
        if not terms(words):
            raise ValidationError("There are no words in this. Enter the words to search for.")
        return words


@require_POST
@reviewers_only
def search(request: HttpRequest) -> HttpResponse:
    """Start a search and redirect to the list; its URL has neither the words nor the reason."""
    assert isinstance(request.user, User)
    form = WordsForm(request.POST)
    filter_form = FilterForm(request.POST, reviewer=request.user)
    sent, filters = filter_form.sent_fields, filter_form.audit_filters
    for name in ("search", "show"):  # a search finds all chats, with a verdict or without
        sent.pop(name, None)
        filters.pop(name, None)
    if form.is_valid():
        with transaction.atomic():
            new_search = ReviewSearch.begin(request.user, **form.cleaned_data)
            detail = {**form.cleaned_data, "asked": filters, "search": str(new_search.pk)}
            audit.record("conversations.searched", actor=request.user, detail=detail)
        sent["search"] = str(new_search.pk)
    else:
        messages.error(request, form.refusal)
    return redirect(f"{reverse('review')}?{urlencode(sent)}")
