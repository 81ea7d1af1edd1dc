"""Events are appended here and nowhere else."""

import secrets
from collections.abc import Collection, Mapping
from typing import Any

from django.db import connection, models
from django.db.models.functions import Now
from django.db.transaction import TransactionManagementError

from chatapp.models.audit import chain, keys
from chatapp.models.audit.actions import ACTIONS
from chatapp.models.audit.details import content_of
from chatapp.models.audit.events import ONLY, AuditDetail, AuditEvent, AuditHead
from chatapp.models.statements import Insert, Query, Update, new, run_with_commit
from chatapp.models.users import User

# An event of these has their ids alone: what people have written stands nowhere in the log, and
# whose something is, or what a reviewer calls it, would outlive the person whom it names.
UNNAMED = frozenset(
    {
        *("user", "limit", "reviewview", "reviewsample"),
        *("conversation", "message", "project", "replyimage"),
    }
)


def record(
    action: str,
    *,
    actor: User | None,
    about: models.Model | None = None,
    detail: Mapping[str, object] | None = None,
) -> AuditEvent:
    """Appends an event in the transaction of what it records, or raises: then nothing is done. With
    PostgreSQL it is written by what comes next in that transaction, be it the commit.

    It holds the log until that transaction ends, so it stands late in it; whoever locks rows after
    it may meet somebody who has those and waits for the log. `actor` is None for what is done at
    the server's terminal, or by nobody who is known. What `detail` says of a change stands in its
    `before` and `after`; a secret is never among it. All of it is cut to a length that does.

    `detail` refers to people by their ids. It goes with the person whom the event concerns, or else
    with the actor: an event that comes after they were erased has none.
    """
    if action not in ACTIONS:
        raise ValueError(f"{action} is no action of the log: see chatapp.models.audit.actions")
    if not connection.in_atomic_block:
        raise TransactionManagementError("An event is recorded in the transaction of what it is of")
    person = _whose(about)
    named = {"about": _name(about), **(detail or {})}
    known = {name: value for name, value in named.items() if value not in (None, "")}
    people = {one.pk for one in (actor, about) if isinstance(one, User)}
    if person is not None:
        people.add(person)
    return append(
        action,
        actor=actor.pk if actor else None,
        target_type=about._meta.model_name or "" if about else "",
        target=str(about.pk) if about else "",
        person=person,
        detail=known,
        people=people,
    )


def _name(one: models.Model | None) -> str:
    return "" if one is None or one._meta.model_name in UNNAMED else str(one)


def _whose(about: models.Model | None) -> int | None:
    if isinstance(about, User):
        return about.pk
    owner = getattr(about, "user_id", None)
    return owner if isinstance(owner, int) else None


def append(
    action: str,
    *,
    actor: int | None = None,
    target_type: str = "",
    target: str = "",
    person: int | None = None,
    detail: Mapping[str, Any],
    people: Collection[int | None] = (),
) -> AuditEvent:
    """The same of what is known by its ids alone. The detail is left out unless all of these people
    have an account still."""
    content = content_of(detail) if detail else ""
    salt = secrets.token_hex(chain.SALT_BYTES) if content else ""
    detail_hash = chain.salted(salt, content) if content else ""
    key = keys.signing()
    # Whoever appends waits from here on, so what doesn't need the head is done by now.
    head: Any = locked_head()
    # Only now, since whoever erases somebody holds the head, too.
    if content and User.objects.filter(pk__in=filter(None, people)).count() < len(people):
        content = detail_hash = ""
    said = chain.Said(
        sequence=head.sequence + 1,
        at=head.now,
        action=action,
        actor=actor,
        target_type=target_type,
        target=target[:64],
        person=person,
        detail_hash=detail_hash,
        key=key.id,
        previous=head.link,
    )
    event = new(AuditEvent, **said._asdict(), mac=chain.signature(key.secret, said))
    head.sequence, head.link = event.sequence, event.link
    sign(head, key)
    stored: list[tuple[Insert | Update, models.Model]] = [(_EVENT, event), (_HEAD, head)]
    if content:
        detail_row = new(AuditDetail, event_id=event.sequence, salt=salt, content=content)
        stored.insert(1, (_DETAIL, detail_row))
    run_with_commit(*stored)
    return event


def sign(head: AuditHead, key: keys.Key) -> None:
    head.key = key.id
    head.mac = chain.signature_of_head(
        key.secret, head.sequence, head.link, head.pruned_to, head.key
    )


def locked_head() -> AuditHead:
    """With `now`, the database's time; nobody else appends until the transaction ends.

    One that is missing is made from the last event, and an event tells of it.
    """
    if (head := _LOCKED.first(ONLY)) is not None:
        return head
    # Another may make it just now, and then has appended to it when this gets the lock.
    AuditHead.objects.bulk_create([AuditHead(pk=ONLY, key="", mac="")], ignore_conflicts=True)
    head = _LOCKED.first(ONLY)
    assert head
    last = AuditEvent.objects.first()
    if head.sequence or not last:
        return head
    AuditHead.objects.filter(pk=ONLY).update(sequence=last.sequence, link=last.link)
    append("log.resumed", target_type="auditevent", target=str(last.sequence), detail={})
    return locked_head()


_LOCKED = Query(
    lambda pk: AuditHead.objects.select_for_update().filter(pk=pk).annotate(now=Now()),
    AuditHead._meta.pk,
)
_EVENT, _DETAIL = Insert(AuditEvent), Insert(AuditDetail)
_HEAD = Update(AuditHead, ["sequence", "link", "pruned_to", "key", "mac"])
