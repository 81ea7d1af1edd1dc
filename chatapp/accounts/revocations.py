"""Signal receivers that notice when people may have lost their right to a socket.

They only ask all processes to check these people again; `sessions` finds out what changed. Changes
without a signal, such as `QuerySet.update`, are found by the check of everyone, which runs at least
once a minute.
"""

from collections.abc import Collection
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils import timezone

from chatapp.models import Device, User

DECISIVE = frozenset({"password", "is_active"})


@receiver(post_save, sender=User)
def _person_changed(
    instance: User, created: bool, update_fields: Collection[str] | None, **_: Any
) -> None:
    if not created and (update_fields is None or DECISIVE & set(update_fields)):
        _check_again([instance.pk])


@receiver(post_delete, sender=User)
def _person_deleted(instance: User, **_: Any) -> None:
    _check_again([instance.pk])


@receiver(post_delete, sender=Session)
def _session_deleted(instance: Session, **_: Any) -> None:
    """After a sign-out, a new password, or `clearsessions`, which deletes thousands."""
    Device.objects.filter(session_key=instance.pk).delete()
    if instance.expire_date <= timezone.now():
        _check_again(None)
    elif user := instance.get_decoded().get(SESSION_KEY):
        _check_again([int(user)])


def _check_again(people: list[int] | None) -> None:
    def notify() -> None:
        # Imported here since it is slow, and few management commands get this far.
        from chatapp.realtime.worker import recheck_access

        recheck_access(people)

    transaction.on_commit(notify, robust=True)
