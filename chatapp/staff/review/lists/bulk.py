"""Bulk actions on conversations in the review list.

Each conversation gets its own event in the audit log. Those that somebody else has changed since
the page was loaded are skipped, and the message says so.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from chatapp.accounts.staff import reviewers_only
from chatapp.db.primary_keys import parse_pk
from chatapp.models import Conversation, Refused, Review, ReviewLabel, User, audit
from chatapp.models.review.readable import reviewable
from chatapp.staff.review import decisions
from chatapp.staff.review.decisions import Act
from chatapp.staff.review.finding.filters import FilterForm
from chatapp.staff.review.lists.pages import PAGE
from chatapp.staff.review.unopened import ALL, ANSWER, OPENED, find_unopened, render_question

CHANGED_MEANWHILE = "someone else has changed it"
DELETED_MEANWHILE = "it no longer exists"
NONE_TICKED = "Select chats first, with x or the mouse."

Versions = Mapping[UUID, str]  # of the selected conversations' reviews, as the page had them


@require_POST
@reviewers_only
def bulk(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    try:
        selected = _parse_selection(request.POST.getlist("rows"))
        act = _parse_act(request.POST)
        if (
            request.POST["act"].startswith("verdict")
            and (answer := request.POST.get(ANSWER)) != ALL
        ):
            unopened = find_unopened(selected, request.user)
            if unopened and answer != OPENED:
                return render_question(
                    request, len(unopened), len(selected), _list_address(request)
                )
            selected = {pk: version for pk, version in selected.items() if pk not in unopened}
        done, skipped = _apply_act(act, selected, request.user)
    except Refused as refused:
        messages.error(request, str(refused))
    except IntegrityError:  # a label, or a conversation, was deleted at the same time
        messages.error(request, "Nothing was changed: a chat or the label was just deleted.")
    else:
        words = [f"{done} chat{'' if done == 1 else 's'} updated."]
        words += [f"{count} skipped: {why.rstrip('.')}." for why, count in sorted(skipped.items())]
        (messages.warning if skipped else messages.success)(request, " ".join(words))
    return redirect(_list_address(request))


def _parse_selection(rows: Sequence[str]) -> Versions:
    """Parse rows of the form "key version". Raises `Refused`."""
    try:
        versions = {UUID(pk): version for pk, _, version in (row.partition(" ") for row in rows)}
    except ValueError:
        raise Refused("Nothing was changed: these aren't chats.") from None
    if not versions:
        raise Refused(NONE_TICKED)
    if len(versions) > PAGE:
        raise Refused(f"Nothing was changed: select at most {PAGE} chats.")
    return versions


def _parse_act(sent: QueryDict) -> Act:
    """Return the act that was chosen. Raises `Refused`."""
    chosen, _, value = sent.get("act", "").partition(" ")
    match chosen:
        case "claim":
            return decisions.claim
        case "release":
            return decisions.release
        case "verdict":
            return partial(decisions.decide, verdict=decisions.parse_verdict(value))
        case "label" | "unlabel":
            label = ReviewLabel.objects.filter(pk=parse_pk(sent.get("label", ""))).first()
            if not label:
                raise Refused("Choose a label first.")
            return partial(_add_label if chosen == "label" else _remove_label, label=label)
    raise Refused("Nothing was changed: choose an action.")


def _add_label(review: Review, _by: User, label: ReviewLabel) -> decisions.ActResult:
    return decisions.label(review, [*review.labels.all(), label])


def _remove_label(review: Review, _by: User, label: ReviewLabel) -> decisions.ActResult:
    return decisions.label(review, [other for other in review.labels.all() if other != label])


@transaction.atomic
def _apply_act(act: Act, selected: Versions, by: User) -> tuple[int, Counter[str]]:
    """Return the number of conversations changed and, by reason, of those skipped."""
    skipped: Counter[str] = Counter()
    # Lock all conversations before recording the first event, which locks the log: decisions about
    # a single conversation take their locks in this order, too.
    existing = reviewable().filter(pk__in=list(selected)).order_by("pk")
    conversations: list[Conversation] = list(existing.select_for_update(no_key=True, of=("self",)))
    skipped[DELETED_MEANWHILE] = len(selected) - len(conversations)
    done = []
    for conversation in conversations:
        review = Review.get_for_update(conversation.pk)
        if str(review.version) != selected[conversation.pk]:
            skipped[CHANGED_MEANWHILE] += 1
            continue
        try:
            done.append((conversation, *act(review, by)))
        except Refused as refused:
            skipped[str(refused)] += 1
    for conversation, action, detail in done:
        audit.record(action, actor=by, about=conversation, detail={**detail, "in_bulk": True})
    return len(done), +skipped


def _list_address(request: HttpRequest) -> str:
    """Return the address of the list that the request was sent from, with known fields only."""
    assert isinstance(request.user, User)
    sent = QueryDict(request.POST.get("asked", ""))
    query = QueryDict(mutable=True)
    for name in FilterForm(sent, reviewer=request.user).fields:
        if value := sent.get(name):
            query[name] = value
    return f"{reverse('review')}?{query.urlencode()}"
