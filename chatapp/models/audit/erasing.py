"""What the log says of a person by name is taken out; that there was something, stays."""

from collections.abc import Mapping, Sequence

from django.db.models import Q

from chatapp.models.audit.events import AuditDetail, AuditEvent
from chatapp.models.audit.recording import append
from chatapp.models.users import User

AT_ONCE = 1000
NAMES_ACTOR = '"actor":'  # in a detail, where no text has a quotation mark that is not escaped


def forget(person: int, by: User | None, detail: Mapping[str, object] | None = None) -> None:
    """In the transaction in which the person goes; the event says that it was done, and by whom,
    and what `detail` says of it, which names nobody.

    What they did to what is somebody else's keeps its detail, unless that is of a version that
    named them in it: whoever was read still learns why.
    """
    theirs = AuditEvent.objects.filter(Q(actor=person) | Q(person=person))
    is_named = Q(event__person=person) | Q(event__person=None) | Q(content__contains=NAMES_ACTOR)
    filled = AuditDetail.objects.filter(is_named, event__in=theirs).exclude(content="")
    pks: Sequence[int] = list(filled.values_list("pk", flat=True))
    for start in range(0, len(pks), AT_ONCE):
        AuditDetail.objects.filter(pk__in=pks[start : start + AT_ONCE]).update(content="", salt="")
    append(
        "person.erased",
        actor=by.pk if by else None,
        target_type="user",
        target=str(person),
        person=person,
        detail=detail or {},
    )


def say_emptied(to: int, count: int) -> None:
    """That the details of so many of the events up to this one go for their age, before they do:
    `verify` takes no empty one for a whole log without a word for it."""
    append("log.emptied", target_type="auditevent", target=str(to), detail={"events": count})
