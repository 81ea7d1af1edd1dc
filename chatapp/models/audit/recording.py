"""Appends events to the audit log. Nothing else does."""

import secrets
from collections.abc import Collection, Mapping
from typing import Any

from django.db import connection, models
from django.db.models.functions import Now
from django.db.transaction import TransactionManagementError

from chatapp.models.accounts.users import User
from chatapp.models.audit import chain, keys
from chatapp.models.audit.actions import ACTIONS
from chatapp.models.audit.details import encode_detail
from chatapp.models.audit.events import SINGLETON_PK, AuditDetail, AuditEvent, AuditHead

# Events about these only contain ids: text that people have written must not get into the log, and
# an owner's name, or a name that a reviewer chose, would outlive the person it names.
UNNAMED = frozenset(
    {
        *("user", "limit", "reviewview", "reviewsample"),
        *("conversation", "message", "project", "replyimage", "attachment"),
        *("savedprompt", "preset", "import"),
    }
)


def record(
    action: str,
    *,
    actor: User | None,
    about: models.Model | None = None,
    detail: Mapping[str, object] | None = None,
) -> AuditEvent:
    """Append an event in the transaction of what it records.

    Raises `ValueError` for an unknown action and `TransactionManagementError` outside a
    transaction.

    It locks the log until the transaction ends, so call it late: to lock other rows after it risks
    a deadlock with someone who holds those and waits for the log.

    `actor` is None for the server's terminal or somebody unknown. `detail` describes a change by
    its `before` and `after` and must never contain a secret; long values are truncated. It refers
    to people by id, and is erased with the person whom the event concerns, or else with the actor.
    If they have been erased already, the event has no detail.
    """
    if action not in ACTIONS:
        raise ValueError(
            f"{action!r} is not an action of the audit log. Add it to chatapp.models.audit.actions."
        )
    if not connection.in_atomic_block:
        raise TransactionManagementError("Record an event in the transaction of what it records.")
    person = _find_owner(about)
    values = {"about": _name_target(about), **(detail or {})}
    present_values = {name: value for name, value in values.items() if value not in (None, "")}
    people = {user.pk for user in (actor, about) if isinstance(user, User)}
    if person is not None:
        people.add(person)
    return append(
        action,
        actor=actor.pk if actor else None,
        target_type=about._meta.model_name or "" if about else "",
        target=str(about.pk) if about else "",
        person=person,
        detail=present_values,
        people=people,
    )


def _name_target(target: models.Model | None) -> str:
    return "" if target is None or target._meta.model_name in UNNAMED else str(target)


def _find_owner(about: models.Model | None) -> int | None:
    if isinstance(about, User):
        return about.pk
    owner = getattr(about, "user_id", getattr(about, "owner_id", None))
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
    """Append an event given by ids only.

    The detail is left out unless all of `people` still have an account.
    """
    content = encode_detail(detail) if detail else ""
    salt = secrets.token_hex(chain.SALT_BYTES) if content else ""
    detail_hash = chain.hash_detail(salt, content) if content else ""
    key = keys.load_signing_key()
    # Others who append wait from here on, so do all work that doesn't need the head before.
    head: Any = lock_head()
    # Check this only now, since erasing a person locks the head, too.
    if content and User.objects.filter(pk__in=filter(None, people)).count() < len(people):
        content = detail_hash = ""
    fields = chain.EventFields(
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
    mac = chain.signature(key.secret, fields)
    event = AuditEvent.objects.create(**fields._asdict(), mac=mac)
    if content:
        AuditDetail.objects.create(event=event, salt=salt, content=content)
    head.sequence, head.link = event.sequence, event.link
    sign(head, key)
    head.save()
    return event


def sign(head: AuditHead, key: keys.Key) -> None:
    head.key = key.id
    head.mac = chain.signature_of_head(
        key.secret, head.sequence, head.link, head.pruned_to, head.key
    )


def lock_head() -> AuditHead:
    """Return the locked head, with the database's time as `now`.

    Nobody else can append until the transaction ends. A missing head is created from the last
    event, and an event records that.
    """
    heads = AuditHead.objects.select_for_update().filter(pk=SINGLETON_PK).annotate(now=Now())
    if (head := heads.first()) is not None:
        return head
    # Another process may create it at the same time and append before this one gets the lock.
    AuditHead.objects.bulk_create(
        [AuditHead(pk=SINGLETON_PK, key="", mac="")], ignore_conflicts=True
    )
    head = heads.get()
    last = AuditEvent.objects.first()
    if head.sequence or not last:
        return head
    AuditHead.objects.filter(pk=SINGLETON_PK).update(sequence=last.sequence, link=last.link)
    append("log.resumed", target_type="auditevent", target=str(last.sequence), detail={})
    return lock_head()
