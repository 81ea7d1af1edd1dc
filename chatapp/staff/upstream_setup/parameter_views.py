"""The page of the rules for the parameters of chats, and forgetting what models refused."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.models import Upstream
from chatapp.staff.people.log import record
from chatapp.staff.upstream_setup.forms import ModelForm
from chatapp.staff.upstream_setup.parameter_form import RulesForm

MAX_MODELS = 1000  # with rules of their own, per upstream
TOO_MANY = "There are rules for {} models of this provider already. Remove some of them first."


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def rules(request: HttpRequest, pk: int) -> HttpResponse:
    """Set the rules for the parameters of chats with one model, or with all of an upstream."""
    upstream = get_object_or_404(Upstream, pk=pk)
    named = ModelForm(request.POST or request.GET)
    model = named.cleaned_data["model"] if named.is_valid() else ""
    before = (upstream.model_parameters or {}).get(model, {})
    form = RulesForm(request.POST or None, before)
    if request.method == "POST" and named.is_valid() and form.is_valid():
        if _store(request, upstream, model, form):
            messages.success(request, "Saved.")
            return redirect("upstream-offer", pk)
        form.add_error(None, TOO_MANY.format(MAX_MODELS))
    context = {"upstream": upstream, "model": model, "form": form}
    return render(request, "upstream_setup/parameters.html", context)


@require_POST
@administrators_only
def forget_refusal(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget that a model has refused a parameter, so that it may be sent again."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("upstream-offer", args=[pk]))
    upstream = get_object_or_404(Upstream, pk=pk)
    model, field = request.POST.get("model", ""), request.POST.get("field", "")
    if field in upstream.refused_by(model):
        with transaction.atomic():
            Upstream.forget_refusals(pk, model, field)
            before = {"refused_parameters": {model: field}}
            after = {"refused_parameters": {model: ""}}
            record(request, "upstream.changed", upstream, before=before, after=after)
    messages.success(request, "Forgotten. The parameter is sent again.")
    return redirect("upstream-offer", pk)


def _store(request: HttpRequest, upstream: Upstream, model: str, form: RulesForm) -> bool:
    """Store the rules of a model; return False if there are too many models with rules."""
    with transaction.atomic():
        locked = Upstream.objects.select_for_update().only("model_parameters").get(pk=upstream.pk)
        stored = locked.model_parameters or {}
        before, after = stored.get(model, {}), form.rules
        other_rules = {
            other_model: rules for other_model, rules in stored.items() if other_model != model
        }
        if after and len(other_rules) >= MAX_MODELS:
            return False
        if before != after:
            locked.model_parameters = {**other_rules, model: after} if after else other_rules
            locked.save(update_fields=["model_parameters"])
            detail = {"before": {"model_parameters": {model: before}}}
            detail |= {"after": {"model_parameters": {model: after}}}
            record(request, "upstream.changed", upstream, **detail)
    return True
