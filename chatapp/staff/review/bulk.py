"""What a reviewer does about many conversations of the list at once. Each has its own event in the
audit log; those that somebody changed meanwhile are left alone, and that is told."""

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
from chatapp.db.primary_keys import key_of
from chatapp.models import Conversation, Refused, Review, ReviewLabel, User, audit
from chatapp.staff.review import acts
from chatapp.staff.review.acts import Act
from chatapp.staff.review.filters import FilterForm
from chatapp.staff.review.queries import PAGE, reviewable

CHANGED = "somebody changed it meanwhile"
NOT_HERE = "it is not here any more"
NONE_TICKED = "Tick the conversations first, by x or by the mouse."

Versions = Mapping[UUID, str]  # those that are ticked, as the page had them


@require_POST
@reviewers_only
def bulk(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    try:
        ticked = _ticked(request.POST.getlist("rows"))
        act = _act(request.POST)
        done, left = _do(act, ticked, request.user)
    except Refused as refused:
        messages.error(request, str(refused))
    except IntegrityError:  # a label, or a conversation, was deleted just now
        messages.error(request, "Nothing was done, since something of it was deleted just now.")
    else:
        told = [f"{done} done."]
        told += [f"{count} left alone: {why.rstrip('.')}." for why, count in sorted(left.items())]
        (messages.warning if left else messages.success)(request, " ".join(told))
    return redirect(f"{reverse('review')}?{_asked(request).urlencode()}")


def _ticked(rows: Sequence[str]) -> Versions:
    """Raises `Refused`."""
    try:
        found = {UUID(pk): version for pk, _, version in (one.partition(" ") for one in rows)}
    except ValueError:
        raise Refused("Nothing was done, since these are no conversations.") from None
    if not found:
        raise Refused(NONE_TICKED)
    if len(found) > PAGE:
        raise Refused(f"Nothing was done: {PAGE} at once are the most.")
    return found


def _act(sent: QueryDict) -> Act:
    """Raises `Refused`."""
    wanted, _, value = sent.get("act", "").partition(" ")
    match wanted:
        case "claim":
            return acts.claim
        case "release":
            return acts.release
        case "verdict":
            return partial(acts.decide, verdict=acts.verdict_of(value))
        case "label" | "unlabel":
            label = ReviewLabel.objects.filter(pk=key_of(sent.get("label", ""))).first()
            if not label:
                raise Refused("Choose the label first.")
            return partial(_with if wanted == "label" else _without, label=label)
    raise Refused("Nothing was done: choose what is to be done.")


def _with(review: Review, _by: User, label: ReviewLabel) -> acts.Done:
    return acts.label(review, [*review.labels.all(), label])


def _without(review: Review, _by: User, label: ReviewLabel) -> acts.Done:
    return acts.label(review, [one for one in review.labels.all() if one != label])


@transaction.atomic
def _do(act: Act, ticked: Versions, by: User) -> tuple[int, Counter[str]]:
    """How many it was done about, and why others were left alone, with how many."""
    left: Counter[str] = Counter()
    # All of them before the first event: whoever does one thing at a time locks in this order, too.
    there = reviewable().filter(pk__in=list(ticked)).order_by("pk")
    found: list[Conversation] = list(there.select_for_update(no_key=True, of=("self",)))
    left[NOT_HERE] = len(ticked) - len(found)
    done = []
    for conversation in found:
        review = Review.held(conversation.pk)
        if str(review.version) != ticked[conversation.pk]:
            left[CHANGED] += 1
            continue
        try:
            done.append((conversation, *act(review, by)))
        except Refused as refused:
            left[str(refused)] += 1
    for conversation, action, detail in done:
        audit.record(action, actor=by, about=conversation, detail={**detail, "in_bulk": True})
    return len(done), +left


def _asked(request: HttpRequest) -> QueryDict:
    """What the list was narrowed by, to show it again."""
    assert isinstance(request.user, User)
    sent = QueryDict(request.POST.get("asked", ""))
    asked = QueryDict(mutable=True)
    for name in FilterForm(sent, reviewer=request.user).fields:
        if value := sent.get(name):
            asked[name] = value
    return asked
