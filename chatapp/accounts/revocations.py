"""What may end a person's right to a socket, noticed where it is stored and told to all processes.

Whatever happened, what is told is only to look at these people again: `sessions` finds out what has
become of them. What no signal tells of, `QuerySet.update` for one, is found at the next look at
everybody, which is never more than a minute away.
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
        _look_again_at([instance.pk])


@receiver(post_delete, sender=User)
def _person_deleted(instance: User, **_: Any) -> None:
    _look_again_at([instance.pk])


@receiver(post_delete, sender=Session)
def _session_deleted(instance: Session, **_: Any) -> None:
    """By signing out, by a new password, or by `clearsessions`, which deletes thousands."""
    Device.objects.filter(session_key=instance.pk).delete()
    if instance.expire_date <= timezone.now():
        _look_again_at(None)
    elif user := instance.get_decoded().get(SESSION_KEY):
        _look_again_at([int(user)])


def _look_again_at(people: list[int] | None) -> None:
    def tell() -> None:
        # Late, since few commands ever get here, and all of them would wait for the import.
        from chatapp.realtime.worker import look_again_at

        look_again_at(people)

    transaction.on_commit(tell, robust=True)
