"""The page of all upstreams, and the steps that connect one.

An upstream is only offered in the chat after the last step.
"""

from typing import Any
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.catalogue import Offer
from chatapp.db.primary_keys import parse_pk
from chatapp.models import (
    AccessRule,
    BudgetAccount,
    Fallback,
    Installation,
    Limit,
    Price,
    ToolServer,
    Upstream,
    User,
    load_model_access,
)
from chatapp.realtime.worker import worker
from chatapp.server_interface import UPSTREAM_THREADS, run_in
from chatapp.staff.people.log import record
from chatapp.staff.secret_forms import describe_secret
from chatapp.staff.upstream_setup.concessions import list_lessons
from chatapp.staff.upstream_setup.correction import suggest_address
from chatapp.staff.upstream_setup.demo import switch_demo_off
from chatapp.staff.upstream_setup.failing import dismiss
from chatapp.staff.upstream_setup.forms import AddressForm, ModelForm, OfferForm, RequestsForm
from chatapp.staff.upstream_setup.health import DAYS, load_health
from chatapp.staff.upstream_setup.live_test import stream_test_page
from chatapp.staff.upstream_setup.titling import propose_model, write_titles_with
from chatapp.upstream.check import model_for_chat


@run_in(UPSTREAM_THREADS)
@require_GET
@administrators_only
def upstreams(request: HttpRequest) -> HttpResponse:
    """Show the health of all upstreams. Enabled ones are asked for their models, which is free."""
    everything = sorted(Upstream.objects.all(), key=lambda upstream: not upstream.enabled)
    enabled = [provider for provider in everything if provider.enabled]
    offers = async_to_sync(worker().catalogue.offers)(wait_for_all=True, upstreams=enabled)
    context = {"healths": load_health(everything, offers), "days": DAYS}
    return render(request, "upstream_setup/upstreams.html", context)


@require_POST
@administrators_only
def order(request: HttpRequest) -> HttpResponse:
    """Set the order in which people see the models of the upstreams."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("upstreams"))
    pks = [pk for pk in map(parse_pk, request.POST.getlist("upstream")) if pk]
    with transaction.atomic():
        before = _names_in_order()
        Upstream.put_in_order(pks)
        after = _names_in_order()
        if before != after:
            change = {"before": {"providers": before}, "after": {"providers": after}}
            record(request, "installation.changed", Installation.load(), **change)
    messages.success(request, "Order saved.")
    return redirect("upstreams")


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
        before, after = form.changes
        with transaction.atomic():
            action = "upstream.added" if pk is None else "upstream.changed"
            record(request, action, form.save(), before=before if pk else {}, after=after)
        return redirect("test-upstream", upstream.pk)
    return render(request, "upstream_setup/address.html", {"form": form, "upstream": upstream})


@run_in(UPSTREAM_THREADS)
@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def offer(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the models an upstream lists, set which are offered and to whom, then enable it."""
    upstream = get_object_or_404(Upstream, pk=pk)
    if request.method != "POST":
        return _offer_page(request, upstream)
    form = _offer_form(request, upstream, _fetch_listing(upstream))
    if not form.is_valid():
        return _offer_page(request, upstream, form=form)
    before = _describe_offer(upstream)
    upstream.offered_models, upstream.enabled = form.offered_models, True
    upstream.model_names = form.names_after(before["model_names"])
    upstream.model_descriptions = form.descriptions_after(upstream.descriptions)
    upstream.model_images = form.images_after(upstream.model_images or {})
    upstream.model_contexts = form.contexts_after(upstream.model_contexts or {})
    after = _describe_offer(upstream)
    decided = after["model_images"].items() - before["model_images"].items()
    entered = after["model_contexts"].items() - before["model_contexts"].items()
    target: dict[str, Any] = {"upstream": upstream, "model": ""}
    before_access = AccessRule.objects.list_group_names(**target)
    with transaction.atomic():
        upstream.save(update_fields=list(after))
        Upstream.forget_image_refusals(pk, {model for model, _ in decided})
        Upstream.forget_context_refusals(pk, {model for model, _ in entered})
        AccessRule.objects.restrict_to(form.chosen_groups, **target)
        access = AccessRule.objects.list_group_names(**target)
        record(request, "access.changed", upstream, model="", before=before_access, after=access)
        if before != after:
            record(request, "upstream.changed", upstream, before=before, after=after)
        if not (upstream.is_demo or before["enabled"]):
            switch_demo_off(request)
        if form.cleaned_data.get("titles"):
            write_titles_with(request, upstream, form.titles_by)
    if before["enabled"]:
        messages.success(request, "Saved.")
        return redirect("upstream-offer", pk)
    model = _find_model_to_try(request, upstream)
    if not model:
        messages.success(request, f"{upstream} is connected. Its models are available in the chat.")
        return redirect("upstreams")
    messages.success(request, f"{upstream} is connected. Try it here.")
    return redirect(f"{reverse('chat')}?{urlencode({'model': f'{upstream.pk}/{model}'})}")


@require_POST
@administrators_only
def requests(request: HttpRequest, pk: int) -> HttpResponse:
    """Set what is sent with each request to an upstream."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("upstream-offer", args=[pk]))
    upstream = get_object_or_404(Upstream, pk=pk)
    form = RequestsForm(request.POST, instance=upstream)
    if not form.is_valid():
        return _offer_page(request, get_object_or_404(Upstream, pk=pk), requests_form=form)
    before, after = form.changes
    if after:
        with transaction.atomic():
            upstream.save(update_fields=list(after))
            record(request, "upstream.changed", upstream, before=before, after=after)
    messages.success(request, "Saved.")
    return redirect("upstream-offer", pk)


@require_POST
@administrators_only
def forget_image_refusal(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget that a model has refused images, so that it may be asked again."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("upstream-offer", args=[pk]))
    upstream, model = get_object_or_404(Upstream, pk=pk), request.POST.get("model", "")
    if model in upstream.refused_images_at:
        with transaction.atomic():
            Upstream.forget_image_refusals(pk, [model])
            detail = {"before": {"refused_images": model}, "after": {"refused_images": ""}}
            record(request, "upstream.changed", upstream, **detail)
    messages.success(request, "Forgotten. The model is sent images again.")
    return redirect("upstream-offer", pk)


@require_POST
@administrators_only
def forget_context_refusal(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget that a model has refused a long request, and the size of the context that it said."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("upstream-offer", args=[pk]))
    upstream, model = get_object_or_404(Upstream, pk=pk), request.POST.get("model", "")
    if model in upstream.refused_contexts:
        with transaction.atomic():
            Upstream.forget_context_refusals(pk, [model])
            detail = {"before": {"refused_context": model}, "after": {"refused_context": ""}}
            record(request, "upstream.changed", upstream, **detail)
    messages.success(request, "Forgotten. The size of its context is as listed again.")
    return redirect("upstream-offer", pk)


@require_POST
@administrators_only
def dismiss_failure(request: HttpRequest, pk: int) -> HttpResponse:
    """Take away the warning of an upstream that fails, and show the page it stood on again."""
    dismiss(request, get_object_or_404(Upstream, pk=pk).pk)
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure())
    return HttpResponseRedirect(back if is_ours else reverse("upstreams"))


@require_POST
@administrators_only
def turn_off(request: HttpRequest, pk: int) -> HttpResponse:
    """Stop offering the models of an upstream. Running replies continue."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("upstream-offer", args=[pk]))
    with transaction.atomic():
        upstream = get_object_or_404(Upstream, pk=pk, enabled=True)
        upstream.enabled = False
        upstream.save(update_fields=["enabled"])
        detail = {"before": {"enabled": True}, "after": {"enabled": False}}
        record(request, "upstream.changed", upstream, **detail)
    messages.success(request, f"{upstream} is turned off. Its models are no longer offered.")
    return redirect("upstream-offer", pk)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete an upstream with its rules, prices and limits. Chats keep its replies."""
    upstream = get_object_or_404(Upstream, pk=pk, from_environment=False)
    limits = Limit.objects.filter(upstream=upstream)
    if request.method == "POST":
        with transaction.atomic():
            for limit in limits:
                BudgetAccount.objects.remove_limit(limit)
                record(request, "limit.deleted", limit, before=limit.as_record())
                limit.delete()
            before = {name: rows for name, rows in _describe_cascade(upstream).items() if rows}
            record(request, "upstream.deleted", upstream, before=before)
            upstream.delete()
        messages.success(request, f"{upstream} was deleted.")
        return redirect("upstreams")
    context = {"upstream": upstream, "limits": limits}
    return render(request, "upstream_setup/delete.html", context)


def _describe_cascade(upstream: Upstream) -> dict[str, Any]:
    """Return what is deleted with an upstream, as the audit log shows it."""
    prices = upstream.prices.filter(source=Price.Source.ADMINISTRATOR)
    fallbacks = Fallback.objects.filter(Q(upstream=upstream) | Q(to_upstream=upstream))
    return {
        "access": AccessRule.objects.filter(upstream=upstream).as_record(),
        "prices": [price.as_audit_record() for price in prices.select_related("upstream")],
        "fallbacks": [
            f"{fallback.model}: {fallback}" for fallback in fallbacks.select_related("to_upstream")
        ],
    }


def _describe_offer(upstream: Upstream) -> dict[str, Any]:
    """Return what the form of models sets, for the audit log."""
    return {
        "offered_models": upstream.offered_models,
        "model_names": dict(upstream.model_names or {}),
        "model_descriptions": dict(upstream.descriptions),
        "model_images": dict(upstream.model_images or {}),
        "model_contexts": dict(upstream.model_contexts or {}),
        "enabled": upstream.enabled,
    }


def _names_in_order() -> list[str]:
    return list(Upstream.objects.values_list("name", flat=True))


def _find_model_to_try(request: HttpRequest, upstream: Upstream) -> str:
    """Return the first chat model of this upstream that the person may ask, or ""."""
    assert isinstance(request.user, User)
    rules = load_model_access(request.user.pk)
    listed = list(upstream.named_models) or [model.id for model in _fetch_listing(upstream).models]
    return model_for_chat([model_id for model_id in listed if rules.may_ask(upstream.pk, model_id)])


@run_in(UPSTREAM_THREADS)
@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def test(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show whether an upstream lists models. A POST tests it with prompts, which may cost money.

    The rows of a test are sent as they are found; a client that leaves cancels it.
    """
    upstream = get_object_or_404(Upstream, pk=pk)
    form = ModelForm(request.POST)
    if request.method == "POST" and not upstream.secret_problem and form.is_valid():
        with transaction.atomic():
            record(request, "upstream.checked", upstream)
        parts = stream_test_page(request, upstream, form.cleaned_data["model"])
        # nginx would hold the rows back otherwise.
        return StreamingHttpResponse(parts, headers={"X-Accel-Buffering": "no"})
    listing = _fetch_listing(upstream)
    correction = suggest_address(upstream, listing.error.kind if listing.error else "")
    asks_model = not listing.models and not upstream.named_models
    context = {"upstream": upstream, "found": listing, "is_running": False}
    context |= {"corrected": correction, "asks_model": asks_model}
    return render(request, "upstream_setup/test.html", context)


def _offer_page(request: HttpRequest, upstream: Upstream, **context: Any) -> HttpResponse:
    listing = _fetch_listing(upstream)
    [health] = load_health([upstream], [])
    context = {
        "form": _offer_form(None, upstream, listing),
        "requests_form": RequestsForm(instance=upstream),
        **context,
    }
    context |= {
        "upstream": upstream,
        "found": listing,
        "listed": {model.id: model for model in listing.models},
        "health": health,
        "days": DAYS,
        "lessons": list_lessons(upstream),
        "fallbacks": Fallback.objects.by_model(upstream),
        "tool_servers": ToolServer.objects.filter(enabled=True),
        "key": describe_secret(upstream.api_key, upstream.secret_problem),
    }
    return render(request, "upstream_setup/offer.html", context)


def _fetch_listing(upstream: Upstream) -> Offer:
    """Return the models an upstream itself lists, ignoring any choice of an administrator."""
    plain = Upstream(pk=upstream.pk, name=upstream.name, base_url=upstream.base_url)
    plain.api_key, plain.dialect = upstream.api_key, upstream.dialect
    [listing] = async_to_sync(worker().catalogue.offers)(wait_for_all=True, upstreams=[plain])
    return listing


def _offer_form(request: HttpRequest | None, upstream: Upstream, listing: Offer) -> OfferForm:
    rule = AccessRule.objects.filter(upstream=upstream, model="").first()
    initial = {"to": "groups" if rule else "everybody", "groups": rule.groups.all() if rule else ()}
    listed = [model.id for model in listing.models]
    proposed = propose_model(upstream, listed)
    return OfferForm(request.POST if request else None, upstream, listed, initial, proposed)
