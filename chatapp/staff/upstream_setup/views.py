"""The page of all upstreams, and the steps that connect one.

An upstream is only offered in the chat after the last step.
"""

from typing import Any
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.catalogue import Offer
from chatapp.models import AccessRule, Upstream, User, permitted
from chatapp.realtime.worker import worker
from chatapp.staff.admin.upstreams import report_of, switch_demo_off
from chatapp.staff.people.log import record
from chatapp.staff.upstream_setup.forms import AddressForm, OfferForm
from chatapp.staff.upstream_setup.health import DAYS, health_of
from chatapp.upstream.check import Report, model_for_chat
from chatapp.upstream.wire.errors import ErrorKind


@require_GET
@administrators_only
def upstreams(request: HttpRequest) -> HttpResponse:
    """Show the health of all upstreams. Enabled ones are asked for their models, which is free."""
    everything = list(Upstream.objects.order_by("-enabled", "name"))
    enabled = [one for one in everything if one.enabled]
    offers = async_to_sync(worker().catalogue.offers)(wait_for_all=True, upstreams=enabled)
    context = {"healths": health_of(everything, offers), "days": DAYS}
    return render(request, "upstream_setup/upstreams.html", context)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def address(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """Set the name, address and key of an upstream. A new one stays disabled for now."""
    upstream = Upstream(enabled=False)
    if pk is not None:
        upstream = get_object_or_404(Upstream, pk=pk, from_environment=False)
    form = AddressForm(request.POST or None, instance=upstream)
    if request.method == "POST" and form.is_valid():
        after = {name: form.cleaned_data[name] for name in form.changed_data}
        before = {name: form.initial[name] for name in after if pk and name in form.initial}
        if after.get("new_api_key"):
            after["new_api_key"] = "changed"
        with transaction.atomic():
            action = "upstream.added" if pk is None else "upstream.changed"
            record(request, action, form.save(), before=before, after=after)
        return redirect("upstream-offer", upstream.pk)
    return render(request, "upstream_setup/address.html", {"form": form, "upstream": upstream})


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def offer(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the models an upstream lists, set which are offered and to whom, then enable it."""
    upstream = get_object_or_404(Upstream, pk=pk)
    if request.method != "POST":
        return _offer_page(request, upstream)
    form = _offer_form(request, upstream, _listed(upstream))
    if not form.is_valid():
        return _offer_page(request, upstream, form=form)
    before = {"offered_models": upstream.offered_models, "enabled": upstream.enabled}
    upstream.offered_models, upstream.enabled = form.offered_models, True
    after = {"offered_models": upstream.offered_models, "enabled": True}
    target: dict[str, Any] = {"upstream": upstream, "model": ""}
    before_access = AccessRule.objects.given_to(**target)
    with transaction.atomic():
        upstream.save(update_fields=list(after))
        AccessRule.objects.give(form.chosen, **target)
        access = AccessRule.objects.given_to(**target)
        record(request, "access.changed", upstream, model="", before=before_access, after=access)
        if before != after:
            record(request, "upstream.changed", upstream, before=before, after=after)
        if not upstream.is_demo:
            switch_demo_off(request)
    model = _to_try(request, upstream)
    if before["enabled"] or not model:
        messages.success(request, f"{upstream} is connected. Its models are available in the chat.")
        return redirect("upstreams")
    messages.success(request, f"{upstream} is connected. Try it here.")
    return redirect(f"{reverse('chat')}?{urlencode({'model': f'{upstream.pk}/{model}'})}")


def _to_try(request: HttpRequest, upstream: Upstream) -> str:
    """Return the first chat model of this upstream that the person may ask, or ""."""
    assert isinstance(request.user, User)
    rules = permitted(request.user.pk)
    listed = list(upstream.named_models) or [model.id for model in _listed(upstream).models]
    return model_for_chat([one for one in listed if rules.may_ask(upstream.pk, one)])


@require_POST
@administrators_only
def test(request: HttpRequest, pk: int) -> HttpResponse:
    """Test an upstream with a few short prompts, which may cost money."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("upstream-offer", args=[pk]))
    upstream = get_object_or_404(Upstream, pk=pk)
    if upstream.secret_problem:
        return _offer_page(request, upstream)
    with transaction.atomic():
        record(request, "upstream.checked", upstream)
    return _offer_page(request, upstream, report=report_of(upstream))


def _offer_page(request: HttpRequest, upstream: Upstream, **context: Any) -> HttpResponse:
    found = _listed(upstream)
    context = {"form": _offer_form(None, upstream, found), "report": None, **context}
    report: Report | None = context["report"]
    errors = found.error and found.error.kind, report and report.failed_with
    corrected = _with_version(upstream.base_url) if ErrorKind.NOT_FOUND in errors else ""
    context |= {"upstream": upstream, "found": found, "corrected": corrected}
    return render(request, "upstream_setup/offer.html", context)


def _with_version(base_url: str) -> str:
    """Return the address with the `/v1` that it probably lacks; "" if it has one."""
    trimmed = base_url.rstrip("/")
    return "" if trimmed.endswith("/v1") else f"{trimmed}/v1"


def _listed(upstream: Upstream) -> Offer:
    """Return the models an upstream itself lists, ignoring any choice of an administrator."""
    plain = Upstream(pk=upstream.pk, name=upstream.name, base_url=upstream.base_url)
    plain.api_key, plain.dialect = upstream.api_key, upstream.dialect
    [found] = async_to_sync(worker().catalogue.offers)(wait_for_all=True, upstreams=[plain])
    return found


def _offer_form(request: HttpRequest | None, upstream: Upstream, found: Offer) -> OfferForm:
    rule = AccessRule.objects.filter(upstream=upstream, model="").first()
    initial = {"to": "groups" if rule else "everybody", "groups": rule.groups.all() if rule else ()}
    listed = [model.id for model in found.models]
    return OfferForm(request.POST if request else None, upstream, listed, initial)
