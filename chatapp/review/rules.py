"""The rules that flag messages: administrators set them, and see first what each would flag."""

from django.contrib import messages
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts.staff import administrators_only
from chatapp.models import Conversation, ReviewPolicy, ReviewRule, User, audit
from chatapp.models.review_policies import is_reviewable
from chatapp.models.review_rules import Trial, tried
from chatapp.once_more import once_more
from chatapp.review.rows import rows_of
from chatapp.review.rule_forms import RuleForm


@require_GET
@administrators_only
def rules(request: HttpRequest) -> HttpResponse:
    there = ReviewRule.objects.annotate(found=Count("findings"))
    return render(request, "review/rules.html", {"rules": there})


@require_http_methods(["GET", "POST"])
@administrators_only
@once_more
def add(request: HttpRequest) -> HttpResponse:
    return _rule_page(request, None)


@require_http_methods(["GET", "POST"])
@administrators_only
@once_more
def change(request: HttpRequest, pk: int) -> HttpResponse:
    return _rule_page(request, get_object_or_404(ReviewRule, pk=pk))


def _rule_page(request: HttpRequest, rule: ReviewRule | None) -> HttpResponse:
    """What is sent is saved if the page has shown what it would flag, and tried if not."""
    assert isinstance(request.user, User)
    form = RuleForm(request.POST or None, rule=rule)
    context: dict[str, object] = {"form": form, "rule": rule, "trial": None, "rows": []}
    if form.is_valid():
        if form.was_tried:
            return _save(request, form, rule)
        trial = _try(request.user, form, rule)
        # Which they are says what stands in them, which is for those who may read them.
        rows = rows_of(trial.flagged, request.user) if request.user.reviews else []
        context |= {"trial": trial, "rows": rows, "policy": ReviewPolicy.now()}
    return render(request, "review/rule.html", context)


def _try(user: User, form: RuleForm, rule: ReviewRule | None) -> Trial:
    """It looks into what people wrote, so it is recorded before."""
    wanted = ReviewRule(**form.wanted)
    with transaction.atomic():
        detail = {"asked": wanted.record}
        audit.record("reviewrule.tried", actor=user, about=rule, detail=detail)
    newest = Conversation.objects.filter(is_reviewable()).order_by("-updated_at", "-id")
    return tried(wanted, newest)


def _save(request: HttpRequest, form: RuleForm, rule: ReviewRule | None) -> HttpResponse:
    assert isinstance(request.user, User)
    with transaction.atomic():
        there = ReviewRule.objects.select_for_update()
        wanted = get_object_or_404(there, pk=rule.pk) if rule else ReviewRule()
        detail = {"before": wanted.record} if rule else {}
        wanted.change(**form.wanted)
        action = "reviewrule.changed" if rule else "reviewrule.added"
        detail["after"] = wanted.record
        audit.record(action, actor=request.user, about=wanted, detail=detail)
    messages.success(request, f"{wanted} is saved. It looks at messages that are written from now.")
    return redirect("review-rules")


@require_POST
@administrators_only
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    """On or off. What it has found stays."""
    assert isinstance(request.user, User)
    with transaction.atomic():
        rule = get_object_or_404(ReviewRule.objects.select_for_update(), pk=pk)
        before = rule.record
        rule.change(is_on="on" in request.POST)
        detail = {"before": before, "after": rule.record}
        audit.record("reviewrule.changed", actor=request.user, about=rule, detail=detail)
    messages.success(request, f"{rule} is {'on' if rule.is_on else 'off'}.")
    return redirect("review-rules")


@require_POST
@administrators_only
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """What it has flagged is flagged by it no longer."""
    assert isinstance(request.user, User)
    rule = get_object_or_404(ReviewRule, pk=pk)
    with transaction.atomic():
        rule.findings.all().delete()
        detail = {"before": rule.record}
        audit.record("reviewrule.deleted", actor=request.user, about=rule, detail=detail)
        rule.delete()
    messages.success(request, f"{rule} was deleted, with its flags.")
    return redirect("review-rules")
