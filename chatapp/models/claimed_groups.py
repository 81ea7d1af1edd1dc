"""Groups that people are in since their organisation's sign-in says so; those given by hand are
nobody's but the administrator's."""

from collections.abc import Collection

from django.contrib.auth.models import Group
from django.db import models, transaction
from django.db.models.signals import m2m_changed
from django.dispatch import receiver

from chatapp.models import audit
from chatapp.models.users import User


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
        """These are claimed now and no others; a name that no group has here means nothing."""
        claims = cls.objects.select_for_update().filter(user=person)
        before = _names_of(person)
        over = claims.exclude(group__name__in=names)
        person.groups.remove(*over.values_list("group", flat=True))
        over.delete()
        new = Group.objects.filter(name__in=names).exclude(user=person)
        for group in list(new):
            person.groups.add(group)
            cls.objects.get_or_create(user=person, group=group)
        if (after := _names_of(person)) != before:
            detail = {"before": before, "after": after, "by": "the organisation's sign-in"}
            audit.record("person.changed", actor=person, about=person, detail=detail)


def _names_of(person: User) -> list[str]:
    return sorted(person.groups.values_list("name", flat=True))


@receiver(m2m_changed, sender=User.groups.through)
def forget_claims(
    action: str, instance: User | Group, pk_set: Collection[int] | None, **_: object
) -> None:
    """Who is taken out of a group is in it by no claim any more: whoever puts them back gives it by
    hand."""
    if action not in ("post_remove", "post_clear"):
        return
    one, others = ("user", "group") if isinstance(instance, User) else ("group", "user")
    gone = ClaimedGroup.objects.filter(**{one: instance})
    (gone if pk_set is None else gone.filter(**{f"{others}__in": pk_set})).delete()
