"""A search in what people wrote: for a reason, and recorded before anything is shown."""

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
from chatapp.models.review_searches import LONGEST_SEARCH
from chatapp.models.reviews import LONGEST_REASON
from chatapp.staff.review.filters import FilterForm
from chatapp.staff.review.forms import SentForm
from chatapp.text.indexing import terms
from chatapp.text.visible import SeenField


class WordsForm(SentForm):
    words = forms.CharField(
        max_length=LONGEST_SEARCH,
        error_messages={"required": "Say which words you look for."},
    )
    reason = SeenField(
        max_length=LONGEST_REASON, error_messages={"required": "Say first why you search."}
    )

    def clean_words(self) -> str:
        words: str = self.cleaned_data["words"]
        if not terms(words):
            raise ValidationError("There is no word in this. Say which words you look for.")
        return words


@require_POST
@reviewers_only
def search(request: HttpRequest) -> HttpResponse:
    """Leads to the list, by an address in which neither the words nor the reason stand."""
    assert isinstance(request.user, User)
    form = WordsForm(request.POST)
    wanted = FilterForm(request.POST, reviewer=request.user)
    sent, asked = wanted.sent, wanted.recorded
    sent.pop("search", None)
    asked.pop("search", None)
    if form.is_valid():
        with transaction.atomic():
            begun = ReviewSearch.begin(request.user, **form.cleaned_data)
            detail = {**form.cleaned_data, "asked": asked, "search": str(begun.pk)}
            audit.record("conversations.searched", actor=request.user, detail=detail)
        sent["search"] = str(begun.pk)
    else:
        messages.error(request, form.refusal)
    return redirect(f"{reverse('review')}?{urlencode(sent)}")
