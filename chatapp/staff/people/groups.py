"""Groups: their members, and which models and tools each may use."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.db.primary_keys import parse_pk
from chatapp.db.retry import retry_on_integrity_error
from chatapp.models import AccessRule, BudgetAccount, Limit, ToolServer, Upstream, User
from chatapp.models.accounts.access_rules import EVERYBODY, MAX_MODEL_LENGTH
from chatapp.staff.people.forms import AccessRuleForm, GroupForm, MemberForm, ModelForm
from chatapp.staff.people.log import record

MAX_MEMBERS = 200  # members on a group's page
ABOUT_UPSTREAM = "All models of this provider, except those with a rule of their own."
ABOUT_MODEL = "One model of the provider {}. Its rule replaces the provider's."
ABOUT_TOOLS = "The tools of this server. Models can call them for the people who may use it."


@dataclass(frozen=True)
class Resource:
    """An upstream, a model or a tool server, and who may use it."""

    name: str
    path: str
    about: str = ""
    whose: str = EVERYBODY


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
@retry_on_integrity_error
def groups(request: HttpRequest) -> HttpResponse:
    form = GroupForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            made = form.save()
            record(request, "group.added", made)
        messages.success(request, f"{made.name} was added.")
        return redirect("group", made.pk)
    counted = Group.objects.annotate(people=Count("user")).order_by("name")
    context = {
        "form": form,
        "groups": counted,
        "things": list(_list_resources()),
        "model_form": ModelForm(),
    }
    return render(request, "people/groups.html", context)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
@retry_on_integrity_error
def group(request: HttpRequest, pk: int) -> HttpResponse:
    current_group = get_object_or_404(Group, pk=pk)
    form = GroupForm(request.POST or None, instance=current_group)
    if request.method == "POST" and form.is_valid():
        before = form.initial["name"]
        with transaction.atomic():
            record(request, "group.changed", form.save(), before=before, after=current_group.name)
        messages.success(request, "Saved.")
        return redirect("group", pk)
    return _group_page(request, pk, form=form)


def _group_page(request: HttpRequest, pk: int, **forms: Any) -> HttpResponse:
    current_group = get_object_or_404(Group, pk=pk)
    people = User.objects.filter(groups=current_group).order_by("username")
    context: dict[str, Any] = {
        "group": current_group,
        "people": people[:MAX_MEMBERS],
        "count": people.count(),
        "things": [_build_resource(rule) for rule in _load_rules().filter(groups=current_group)],
        "form": GroupForm(instance=current_group),
        "member_form": MemberForm(),
        "model_form": ModelForm(),
    }
    return render(request, "people/group.html", context | forms)


@require_POST
@administrators_only
def member(request: HttpRequest, pk: int) -> HttpResponse:
    """Add somebody to a group, or remove them."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("group", args=[pk]))
    current_group = get_object_or_404(Group, pk=pk)
    if "remove" in request.POST:
        if removed := parse_pk(request.POST["remove"]):
            with transaction.atomic():
                current_group.user_set.remove(removed)
                record(request, "group.changed", current_group, removed=removed)
        return redirect("group", pk)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _group_page(request, pk, member_form=form)
    added: User = form.cleaned_data["person"]
    with transaction.atomic():
        current_group.user_set.add(added)
        record(request, "group.changed", current_group, added=added.pk)
    messages.success(request, f"{added.username} was added.")
    return redirect("group", pk)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    current_group = get_object_or_404(Group, pk=pk)
    limits = Limit.objects.filter(group=current_group)
    if request.method == "POST":
        with transaction.atomic():
            for limit in limits:
                BudgetAccount.objects.remove_limit(limit)
                record(request, "limit.deleted", limit, before=limit.as_record())
            record(request, "group.deleted", current_group)
            current_group.delete()
        messages.success(request, f"The group {current_group.name} was deleted.")
        return redirect("groups")
    context = {"group": current_group, "count": current_group.user_set.count(), "limits": limits}
    return render(request, "people/delete_group.html", context)


@require_GET
@administrators_only
def choose_model_access(request: HttpRequest) -> HttpResponse:
    """Go to the page of who may use a model; `?group=` is suggested there."""
    form = ModelForm(request.GET)
    if not form.is_valid():
        messages.error(request, "Choose a provider and one of its models.")
        return redirect("groups")
    path = _path("upstream", form.cleaned_data["provider"].pk, form.cleaned_data["model"])
    group = parse_pk(request.GET.get("group", ""))
    return redirect(f"{path}&group={group}" if group else path)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
@retry_on_integrity_error
def edit_access(request: HttpRequest, kind: str, pk: int) -> HttpResponse:
    """Set who may use an upstream, one of its models (`?model=`), or a tool server."""
    target, context = _find_target(kind, pk, request.GET.get("model", "").strip())
    rule = AccessRule.objects.filter(**target).first()
    suggested = Group.objects.filter(pk=parse_pk(request.GET.get("group", "")))
    initial = {
        "to": "groups" if rule or suggested else "everybody",
        "groups": [*(rule.groups.all() if rule else ()), *suggested],
    }
    before = AccessRule.objects.list_group_names(**target)
    form = AccessRuleForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            AccessRule.objects.restrict_to(form.chosen_groups, **target)
            thing = target.get("tool_server") or target["upstream"]
            after = AccessRule.objects.list_group_names(**target)
            changed = {"model": target.get("model", ""), "before": before, "after": after}
            record(request, "access.changed", thing, **changed)
        messages.success(request, f"Saved who may use {context['name']}.")
        return redirect("groups")
    return render(request, "people/given.html", context | {"form": form})


def _find_target(kind: str, pk: int, model: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the target fields of an access rule, and the context of its page."""
    if kind == "tools":
        server = get_object_or_404(ToolServer, pk=pk)
        context = {"name": server.name, "about": ABOUT_TOOLS}
        return {"tool_server": server}, context
    if kind != "upstream" or len(model) > MAX_MODEL_LENGTH or not model.isprintable():
        raise Http404("There is nothing of that kind.")
    upstream = get_object_or_404(Upstream, pk=pk)
    about = ABOUT_MODEL.format(upstream.name) if model else ABOUT_UPSTREAM
    return {"upstream": upstream, "model": model}, {
        "name": model or upstream.name,
        "about": about,
        "upstream": None if model else upstream,
    }


def _list_resources() -> Iterator[Resource]:
    """Yield all upstreams, each followed by its models that have a rule, then all tool servers."""
    resources_by_target: dict[tuple[int | None, str, int | None], Resource] = {
        (rule.upstream_id, rule.model, rule.tool_server_id): _build_resource(rule)
        for rule in _load_rules()
    }
    for upstream in Upstream.objects.all():
        whole = Resource(str(upstream), _path("upstream", upstream.pk), "Provider")
        yield resources_by_target.get((upstream.pk, "", None), whole)
        yield from (
            resource
            for (pk, model, _), resource in resources_by_target.items()
            if pk == upstream.pk and model
        )
    for server in ToolServer.objects.all():
        default = Resource(str(server), _path("tools", server.pk), "Tool server")
        yield resources_by_target.get((None, "", server.pk), default)


def _load_rules() -> Any:
    rules = AccessRule.objects.select_related("upstream", "tool_server")
    return rules.prefetch_related("groups").order_by("upstream__name", "model")


def _build_resource(rule: AccessRule) -> Resource:
    whose = ", ".join(grantee.name for grantee in rule.groups.all()) or "Nobody"
    if rule.tool_server:
        path = _path("tools", rule.tool_server.pk)
        return Resource(rule.tool_server.name, path, "Tool server", whose)
    assert rule.upstream
    path = _path("upstream", rule.upstream.pk, rule.model)
    about = f"Model of {rule.upstream.name}" if rule.model else "Provider"
    return Resource(rule.model or rule.upstream.name, path, about, whose)


def _path(kind: str, pk: int, model: str = "") -> str:
    path = reverse("given", args=[kind, pk])
    return f"{path}?{urlencode({'model': model})}" if model else path
