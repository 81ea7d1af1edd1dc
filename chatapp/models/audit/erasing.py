"""What the log says of a person by name is taken out; that there was something, stays."""

import json
from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Q

from chatapp.models.audit.events import AuditDetail, AuditEvent
from chatapp.models.audit.recording import append
from chatapp.models.users import User

AT_ONCE = 1000
NAMES_ACTOR = '"actor":'  # in a detail, where no text has a quotation mark that is not escaped
OF_LIMITS = ("limit.added", "limit.changed", "limit.deleted")
NAMES_OTHERS = (*OF_LIMITS, "person.signed_out")  # by versions up to 0.4


def forget(
    person: int, by: User | None, detail: Mapping[str, object] | None = None, name: str = ""
) -> None:
    """In the transaction in which the person goes, once they are gone; the event says that it was
    done, and by whom, and what `detail` says of it, which names nobody.

    What they did to what is somebody else's keeps its detail, unless that is of a version that
    named them in it: whoever was read still learns why. `name` is looked for in what versions up
    to 0.4 wrote about limits that were others' later.
    """
    # First, since it locks the log: whoever appends an event later finds the person gone.
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
    """Details of versions up to 0.4 in events that concern another person, or nobody: the former
    owner of a limit, and who signed out by erasing themselves."""
    whose, filled = f'"user":{json.dumps(name)}', AuditDetail.objects.exclude(content="")
    of_limits = filled.filter(event__action__in=OF_LIMITS, content__contains=whose)
    yield from of_limits.values_list("pk", flat=True)
    of_nobody = filled.filter(event__action="person.signed_out", event__actor=None)
    yield from of_nobody.values_list("pk", flat=True)


def _empty(pks: Sequence[int]) -> None:
    for start in range(0, len(pks), AT_ONCE):
        AuditDetail.objects.filter(pk__in=pks[start : start + AT_ONCE]).update(content="", salt="")


def say_emptied(to: int, count: int) -> None:
    """That the details of so many of the events up to this one go for their age, before they do:
    `verify` takes no empty one for a whole log without a word for it."""
    append("log.emptied", target_type="auditevent", target=str(to), detail={"events": count})
