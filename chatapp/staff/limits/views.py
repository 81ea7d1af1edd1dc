"""Pages where administrators set limits and prices, and where people see their own limits."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.models import BudgetAccount, Limit, Price, User, audit
from chatapp.models.billing.person_usage import PersonUsage
from chatapp.models.billing.quota_usage import quota_usages
from chatapp.models.platform import calendar
from chatapp.staff.limits import queries
from chatapp.staff.limits.forms import LimitForm, PriceForm, build_price_initial


@require_GET
@administrators_only
def limits(request: HttpRequest) -> HttpResponse:
    context = {
        "limits": queries.load_limits(),
        "prices": queries.load_prices(),
        "unpriced": queries.models_without_price(),
        "zone": calendar.zone().key,
    }
    return render(request, "limits/limits.html", context)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def new_limit(request: HttpRequest) -> HttpResponse:
    """Add a limit; `?person=` names the person it is for."""
    person = request.GET.get("person", "")
    initial = {"whose": "person", "person": person} if person else {}
    form = LimitForm(request.POST or None, initial=initial)
    if form.is_valid():
        with transaction.atomic():
            limit = form.build_instance()
            limit.save()
            _record(request, "limit.added", limit, after=limit.as_record())
        messages.success(request, f"Limit added: {limit}.")
        return redirect("limits")
    return _limit_page(request, form, "New limit", "Add limit")


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def limit(request: HttpRequest, pk: int) -> HttpResponse:
    """Change a limit. Usage counted so far is kept unless what is counted, or for whom, changes."""
    stored_limit = get_object_or_404(Limit, pk=pk)
    before, counted = stored_limit.as_record(), stored_limit.counts
    form = LimitForm(request.POST or None, limit=stored_limit)
    if form.is_valid():
        with transaction.atomic():
            changed = form.build_instance()
            changed.save()
            if changed.counts != counted:
                BudgetAccount.objects.remove_limit(changed)
            detail = _changes(before, changed.as_record())
            _record(request, "limit.changed", changed, **detail)
        messages.success(request, f"Limit changed: {changed}.")
        return redirect("limits")
    return _limit_page(request, form, "Edit limit", "Save", removable=stored_limit)


@require_GET
@administrators_only
def preview_limit(request: HttpRequest) -> HttpResponse:
    """Say whom the limit being entered concerns; nothing while it isn't valid."""
    form = LimitForm(request.GET)
    if not form.is_valid():
        return HttpResponse()
    return render(
        request, "limits/_preview.html", {"shown": queries.load_preview(form.build_instance())}
    )


@require_POST
@administrators_only
def remove_limit(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a limit. Running replies continue without it."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("limits"))
    with transaction.atomic():
        stored_limit = get_object_or_404(Limit, pk=pk)
        BudgetAccount.objects.remove_limit(stored_limit)
        _record(request, "limit.deleted", stored_limit, before=stored_limit.as_record())
        description = str(stored_limit)
        stored_limit.delete()
    messages.success(request, f"Limit removed: {description}.")
    return redirect("limits")


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def new_price(request: HttpRequest) -> HttpResponse:
    initial = {name: request.GET.get(name, "") for name in ("upstream", "model")}
    form = PriceForm(request.POST or None, initial=initial)
    if form.is_valid():
        with transaction.atomic():
            price = form.build_instance()
            previous = Price.find(price.upstream_id, price.model, price.holds_from)
            price.save()
            before = previous and previous.as_audit_record()
            _record(request, "price.changed", price, before=before, after=price.as_audit_record())
        messages.success(request, f"Price added: {price}.")
        return redirect("limits")
    context = {"form": form, "title": "New price", "button": "Add price"}
    return render(request, "limits/form.html", context)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def price(request: HttpRequest, pk: int) -> HttpResponse:
    """Change a price that an administrator set. Usage already booked keeps its cost."""
    stored_price = get_object_or_404(Price, pk=pk, source=Price.Source.ADMINISTRATOR)
    form = PriceForm(request.POST or None, initial=build_price_initial(stored_price))
    if form.is_valid():
        changed = form.build_instance()
        changed.pk = stored_price.pk
        with transaction.atomic():
            changed.save(force_update=True)
            detail = {"before": stored_price.as_audit_record(), "after": changed.as_audit_record()}
            _record(request, "price.changed", changed, **detail)
        messages.success(request, f"Price changed: {changed}.")
        return redirect("limits")
    context = {"form": form, "title": "Edit price", "button": "Save"}
    return render(request, "limits/form.html", context)


@require_POST
@administrators_only
def remove_price(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a price that an administrator set. Usage already booked keeps its cost."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("limits"))
    with transaction.atomic():
        price = get_object_or_404(Price, pk=pk, source=Price.Source.ADMINISTRATOR)
        _record(request, "price.changed", price, before=price.as_audit_record())
        description = str(price)
        price.delete()
    messages.success(request, f"Price removed: {description}.")
    return redirect("limits")


@require_GET
@never_cache
@login_required
def own(request: HttpRequest) -> HttpResponse:
    """Show people their own limits, and what they have used this month."""
    assert isinstance(request.user, User)
    context = {"meters": quota_usages(request.user), "spent": PersonUsage.this_month(request.user)}
    return render(request, "limits/own.html", context)


def _limit_page(
    request: HttpRequest,
    form: LimitForm,
    title: str,
    button: str,
    removable: Limit | None = None,
) -> HttpResponse:
    context = {
        "form": form,
        "title": title,
        "button": button,
        "removable": removable,
    }
    return render(request, "limits/limit.html", context)


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the fields that differ, with their values before and after."""
    names = [name for name in after if before[name] != after[name]]
    return {
        "before": {name: before[name] for name in names},
        "after": {name: after[name] for name in names},
    }


def _record(request: HttpRequest, action: str, about: Limit | Price, **detail: Any) -> None:
    assert isinstance(request.user, User)
    audit.record(action, actor=request.user, about=about, detail=detail)
