"""Erases details that name a person from the audit log; the events themselves remain."""

import json
from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Q

from chatapp.models.accounts.users import User
from chatapp.models.audit.events import AuditDetail, AuditEvent
from chatapp.models.audit.recording import append

AT_ONCE = 1000
NAMES_ACTOR = '"actor":'  # a key of a detail: quotation marks inside its texts are escaped
OF_LIMITS = ("limit.added", "limit.changed", "limit.deleted")
NAMES_OTHERS = (*OF_LIMITS, "person.signed_out")  # in versions up to 0.4


def forget(
    person: int, by: User | None, detail: Mapping[str, object] | None = None, name: str = ""
) -> None:
    """Record that the person was erased, and empty the details that name them.

    Call it in the transaction that deletes the person, after deleting them. `by` is who did it;
    `detail` must not name anyone.

    Details of what they did to things of other people are kept, so that anyone whose chat was read
    still learns why, unless an old version named the person in them. `name` is searched for in
    details that versions up to 0.4 wrote about limits that had other owners later.
    """
    # First, since it locks the log: anyone who appends an event later finds the person deleted.
    erased = append(
        "person.erased",
        actor=by.pk if by else None,
        target_type="user",
        target=str(person),
        person=person,
        detail=detail or {},
    )
    theirs = AuditEvent.objects.filter(Q(actor=person) | Q(person=person))
    is_named = Q(event__person=person) | Q(event__person=None) | Q(content__contains=NAMES_ACTOR)
    filled = AuditDetail.objects.filter(is_named, event__in=theirs).exclude(content="")
    _empty(list(filled.exclude(pk=erased.pk).values_list("pk", flat=True)))
    elsewhere = list(_named_elsewhere(name))
    for pk in elsewhere:
        append("detail.emptied", target_type="auditevent", target=str(pk), detail={})
    _empty(elsewhere)


def _named_elsewhere(name: str) -> Iterator[int]:
    """Yield details of versions up to 0.4 in events that concern another person, or nobody.

    They may name the former owner of a limit, or a person who signed out by erasing themselves.
    """
    owner, filled = f'"user":{json.dumps(name)}', AuditDetail.objects.exclude(content="")
    of_limits = filled.filter(event__action__in=OF_LIMITS, content__contains=owner)
    yield from of_limits.values_list("pk", flat=True)
    of_nobody = filled.filter(event__action="person.signed_out", event__actor=None)
    yield from of_nobody.values_list("pk", flat=True)


def _empty(pks: Sequence[int]) -> None:
    for start in range(0, len(pks), AT_ONCE):
        AuditDetail.objects.filter(pk__in=pks[start : start + AT_ONCE]).update(content="", salt="")


def record_emptying(to: int, count: int) -> None:
    """Record that details of `count` events up to event `to` will be emptied because of their age.

    Call it before emptying them: `verify` fails for an empty detail that no event explains.
    """
    append("log.emptied", target_type="auditevent", target=str(to), detail={"events": count})
