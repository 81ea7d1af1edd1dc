"""Signal receivers that notice when people may have lost their right to a socket or to the API.

They only ask all processes to check these people again; `sessions` finds out what changed. Changes
without a signal, such as `QuerySet.update`, are found by the check of everyone, which runs at least
once a minute.
"""

from collections.abc import Collection
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.dispatch import receiver
from django.utils import timezone

from chatapp.models import AccessRule, AccessToken, Device, Installation, Upstream, User

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


@receiver(post_delete, sender=AccessToken)
def _token_revoked(instance: AccessToken, **_: Any) -> None:
    _check_again([instance.user_id])


@receiver(m2m_changed, sender=User.groups.through)
def _membership_changed(
    instance: User | Group, action: str, pk_set: set[int] | None, reverse: bool, **_: Any
) -> None:
    """Scripts' requests end with the right to the model or to the API."""
    if action.startswith("post_"):
        _check_again([*(pk_set or ())] or None if reverse else [instance.pk])


@receiver(m2m_changed, sender=AccessRule.groups.through)
@receiver(m2m_changed, sender=Installation.api_groups.through)
def _groups_changed(action: str, **_: Any) -> None:
    if action.startswith("post_"):
        _check_again(None)


@receiver([post_save, post_delete], sender=AccessRule)
@receiver([post_save, post_delete], sender=Upstream)
@receiver(post_save, sender=Installation)
@receiver(post_delete, sender=Group)
def _access_changed(**_: Any) -> None:
    _check_again(None)


def _check_again(people: list[int] | None) -> None:
    def notify() -> None:
        # Imported here since it is slow, and few management commands get this far.
        from chatapp.realtime.worker import recheck_access

        recheck_access(people)

    transaction.on_commit(notify, robust=True)
