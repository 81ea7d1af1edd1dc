"""Group memberships that come from claims of the organisation's single sign-on.

Memberships that an administrator gave are never changed here.
"""

from collections.abc import Collection

from django.contrib.auth.models import Group
from django.db import models, transaction
from django.db.models.signals import m2m_changed
from django.dispatch import receiver

from chatapp.models import audit
from chatapp.models.accounts.users import User


class ClaimedGroup(models.Model):
    user = models.ForeignKey(User, models.CASCADE, related_name="claimed_groups")
    group = models.ForeignKey(Group, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "group"], name="one_claim_a_group")]

    def __str__(self) -> str:
        return f"Claimed group {self.pk}"

    @classmethod
    @transaction.atomic
    def claim(cls, person: User, names: Collection[str]) -> None:
        """Replace the person's claimed groups by those with these names; ignore unknown names."""
        claims = cls.objects.select_for_update().filter(user=person)
        before = _list_group_names(person)
        dropped = claims.exclude(group__name__in=names)
        person.groups.remove(*dropped.values_list("group", flat=True))
        dropped.delete()
        new = Group.objects.filter(name__in=names).exclude(user=person)
        for group in list(new):
            person.groups.add(group)
            cls.objects.get_or_create(user=person, group=group)
        if (after := _list_group_names(person)) != before:
            detail = {"before": before, "after": after, "by": "the organisation's sign-in"}
            audit.record("person.changed", actor=person, about=person, detail=detail)


def _list_group_names(person: User) -> list[str]:
    return sorted(person.groups.values_list("name", flat=True))


@receiver(m2m_changed, sender=User.groups.through)
def forget_claims(
    action: str, instance: User | Group, pk_set: Collection[int] | None, **_: object
) -> None:
    """Delete the claims of memberships that were removed.

    If an administrator adds the person again, that membership is not a claimed one.
    """
    if action not in ("post_remove", "post_clear"):
        return
    own_field, other_field = ("user", "group") if isinstance(instance, User) else ("group", "user")
    claims = ClaimedGroup.objects.filter(**{own_field: instance})
    (claims if pk_set is None else claims.filter(**{f"{other_field}__in": pk_set})).delete()
