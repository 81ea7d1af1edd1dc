"""The page where administrators manage the labels of the review."""

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.db.retry import retry_on_integrity_error
from chatapp.models import ReviewLabel, User, audit
from chatapp.text.visible import VisibleCharField


class LabelForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = ReviewLabel
        fields = ["name"]
        field_classes = {"name": VisibleCharField}
        error_messages = {"name": {"unique": "This label already exists. Choose another name."}}


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
@retry_on_integrity_error
def labels(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = LabelForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            added = form.save()
            audit.record("reviewlabel.added", actor=request.user, about=added)
        messages.success(request, f"{added} was added.")
        return redirect("review-labels")
    existing = ReviewLabel.objects.annotate(used=Count("reviews"))
    return render(request, "review/labels.html", {"form": form, "labels": existing})


@require_POST
@administrators_only
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a label and remove it from conversations, which keep the rest of their review."""
    assert isinstance(request.user, User)
    if not is_confirmed(request):
        return ask_to_confirm(reverse("review-labels"))
    label = get_object_or_404(ReviewLabel, pk=pk)
    with transaction.atomic():
        audit.record("reviewlabel.deleted", actor=request.user, about=label)
        label.delete()
    messages.success(request, f"{label} was deleted.")
    return redirect("review-labels")
