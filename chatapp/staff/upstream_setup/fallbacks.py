"""The page that names the models that answer if a model of an upstream fails."""

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.forms import BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.catalogue import known_models
from chatapp.models import Fallback, ModelChoice, Upstream
from chatapp.models.accounts.access_rules import MAX_MODEL_LENGTH
from chatapp.models.platform.fallbacks import MAX_FALLBACKS
from chatapp.staff.people.log import record
from chatapp.staff.pickers.fields import PickerInput
from chatapp.text.visible import VisibleCharField

PLACES = ("First", "Second", "Third")
NUMBERS = range(1, MAX_FALLBACKS + 1)


class FallbackForm(forms.Form):
    """A model of an upstream, and the models that answer if it fails, in order."""

    own = forms.CharField(required=False, widget=forms.HiddenInput)  # for suggestions of models
    model = VisibleCharField(
        max_length=MAX_MODEL_LENGTH, widget=PickerInput("pick-models", provider="own")
    )

    def __init__(self, data: Any, upstream: Upstream, **options: Any) -> None:
        super().__init__(data, **options)
        self._upstream = upstream
        self.fields["own"].initial = upstream.pk
        for number, place in zip(NUMBERS, PLACES, strict=True):
            self.fields[f"provider_{number}"] = forms.ModelChoiceField(
                Upstream.objects.defer("api_key"),
                label=f"{place} fallback: provider",
                required=False,
                empty_label="None",
            )
            self.fields[f"model_{number}"] = VisibleCharField(
                label=f"{place} fallback: model",
                required=False,
                max_length=MAX_MODEL_LENGTH,
                widget=PickerInput("pick-models", provider=f"provider_{number}"),
            )

    @property
    def rows(self) -> Iterator[tuple[str, BoundField, BoundField]]:
        for number, place in zip(NUMBERS, PLACES, strict=True):
            yield place, self[f"provider_{number}"], self[f"model_{number}"]

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        model = fields.get("model")
        if model and not _offers_model(self._upstream, model):
            self.add_error("model", f"{self._upstream} doesn't offer this model.")
        seen = {(self._upstream.pk, model)}
        for number in NUMBERS:
            provider, name = fields.get(f"provider_{number}"), fields.get(f"model_{number}")
            if not provider and not name:
                continue
            if not provider or not name:
                self.add_error(f"model_{number}", "Choose a provider and one of its models.")
            elif (provider.pk, name) in seen:
                self.add_error(f"model_{number}", "Choose each model once, and not itself.")
            elif not _offers_model(provider, name):
                self.add_error(f"model_{number}", f"{provider} doesn't offer this model.")
            else:
                seen.add((provider.pk, name))
        return fields

    @property
    def choices(self) -> Sequence[ModelChoice]:
        """The chosen fallbacks, in order."""
        chosen = (
            (self.cleaned_data[f"provider_{n}"], self.cleaned_data[f"model_{n}"]) for n in NUMBERS
        )
        return [ModelChoice(provider.pk, name) for provider, name in chosen if provider]


def build_initial(model: str, fallbacks: Sequence[Fallback]) -> dict[str, Any]:
    """Return what the form shows of the stored fallbacks of a model."""
    initial: dict[str, Any] = {"model": model}
    for number, fallback in enumerate(fallbacks, start=1):
        initial[f"provider_{number}"] = fallback.to_upstream_id
        initial[f"model_{number}"] = fallback.to_model
    return initial


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def fallbacks(request: HttpRequest, pk: int) -> HttpResponse:
    """Name the models that answer if a model fails; without any, it has no fallback."""
    upstream = get_object_or_404(Upstream, pk=pk)
    if request.method == "POST":
        form = FallbackForm(request.POST, upstream)
        if form.is_valid():
            _save(request, upstream, form)
            return redirect("upstream-offer", pk)
    else:
        model = request.GET.get("model", "")[:MAX_MODEL_LENGTH]
        stored_fallbacks = Fallback.objects.by_model(upstream).get(model, ())
        form = FallbackForm(None, upstream, initial=build_initial(model, stored_fallbacks))
    context = {"upstream": upstream, "form": form}
    return render(request, "upstream_setup/fallbacks.html", context)


def _save(request: HttpRequest, upstream: Upstream, form: FallbackForm) -> None:
    model = form.cleaned_data["model"]
    with transaction.atomic():
        before = _as_record(upstream, model)
        Fallback.replace(upstream, model, form.choices)
        after = _as_record(upstream, model)
        if before != after:
            change = {"before": {"fallbacks": before}, "after": {"fallbacks": after}}
            record(request, "upstream.changed", upstream, model=model, **change)
    messages.success(request, "Saved.")


def _as_record(upstream: Upstream, model: str) -> list[str]:
    return [str(fallback) for fallback in Fallback.objects.by_model(upstream).get(model, ())]


def _offers_model(upstream: Upstream, model: str) -> bool:
    """Whether the upstream offers this model, as far as its models are known."""
    models = known_models(upstream)
    return not models or model in models
