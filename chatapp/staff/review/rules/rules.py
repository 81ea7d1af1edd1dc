"""Pages where administrators manage the rules that flag messages, and try them first."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.db.retry import retry_on_integrity_error
from chatapp.models import Conversation, ReviewPolicy, ReviewRule, User, audit
from chatapp.models.review.judging import Trial, try_rule
from chatapp.models.review.readable import is_reviewable, readable_findings
from chatapp.staff.review.lists.rows import load_rows
from chatapp.staff.review.rules.rule_forms import RuleForm


@require_GET
@administrators_only
def rules(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    # The count reveals something about what people wrote, so only reviewers see it.
    findings = readable_findings() if request.user.reviews else None
    context = {"rules": ReviewRule.objects.all(), "found": findings}
    return render(request, "review/rules.html", context)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
@retry_on_integrity_error
def add(request: HttpRequest) -> HttpResponse:
    return _rule_page(request, None)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
@retry_on_integrity_error
def change(request: HttpRequest, pk: int) -> HttpResponse:
    return _rule_page(request, get_object_or_404(ReviewRule, pk=pk))


def _rule_page(request: HttpRequest, rule: ReviewRule | None) -> HttpResponse:
    """Save a rule. For a reviewer, it is tried first, and saved once they have seen the result."""
    assert isinstance(request.user, User)
    is_tried = request.user.reviews
    form = RuleForm(request.POST or None, rule=rule, is_tried=is_tried)
    context: dict[str, object] = {"form": form, "rule": rule, "is_tried": is_tried, "trial": None}
    if form.is_valid():
        if form.was_tried or not is_tried:
            return _save(request, form, rule)
        trial = _try(request.user, form, rule)
        rows = load_rows(trial.flagged, request.user)
        context |= {"trial": trial, "rows": rows, "policy": ReviewPolicy.now()}
    return render(request, "review/rule.html", context)


def _try(user: User, form: RuleForm, rule: ReviewRule | None) -> Trial:
    """Try a rule on the newest conversations.

    The attempt is recorded before anyone's text is read, and each match before it is shown.
    """
    draft_rule = ReviewRule(**form.rule_fields)
    reason = form.cleaned_data["reason"]
    with transaction.atomic():
        detail = {"asked": draft_rule.record, "reason": reason}
        audit.record("reviewrule.tried", actor=user, about=rule, detail=detail)
    newest = Conversation.objects.filter(is_reviewable()).order_by("-updated_at", "-id")
    trial = try_rule(draft_rule, newest)
    with transaction.atomic():
        for conversation in Conversation.objects.filter(pk__in=trial.flagged).order_by("pk"):
            audit.record(
                "reviewrule.matched", actor=user, about=conversation, detail={"reason": reason}
            )
    return trial


def _save(request: HttpRequest, form: RuleForm, rule: ReviewRule | None) -> HttpResponse:
    assert isinstance(request.user, User)
    with transaction.atomic():
        existing = ReviewRule.objects.select_for_update()
        saved_rule = get_object_or_404(existing, pk=rule.pk) if rule else ReviewRule()
        detail = {"before": saved_rule.record} if rule else {}
        saved_rule.change(**form.rule_fields)
        action = "reviewrule.changed" if rule else "reviewrule.added"
        detail["after"] = saved_rule.record
        audit.record(action, actor=request.user, about=saved_rule, detail=detail)
    messages.success(
        request, f"{saved_rule} was saved. It applies to messages written from now on."
    )
    return redirect("review-rules")


@require_POST
@administrators_only
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    """Turn a rule on or off. Its flags stay."""
    assert isinstance(request.user, User)
    if not is_confirmed(request):
        return ask_to_confirm(reverse("review-rules"))
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
    """Delete a rule and its flags."""
    assert isinstance(request.user, User)
    if not is_confirmed(request):
        return ask_to_confirm(reverse("review-rules"))
    rule = get_object_or_404(ReviewRule, pk=pk)
    with transaction.atomic():
        rule.findings.all().delete()
        detail = {"before": rule.record}
        audit.record("reviewrule.deleted", actor=request.user, about=rule, detail=detail)
        rule.delete()
    messages.success(request, f"{rule} was deleted, with its flags.")
    return redirect("review-rules")
