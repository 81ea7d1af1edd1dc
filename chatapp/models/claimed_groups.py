"""Groups that people are in since their organisation's sign-in says so; those given by hand are
nobody's but the administrator's."""

from collections.abc import Collection

from django.contrib.auth.models import Group
from django.db import models, transaction

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
        over = claims.exclude(group__name__in=names)
        person.groups.remove(*over.values_list("group", flat=True))
        over.delete()
        new = Group.objects.filter(name__in=names).exclude(user=person)
        for group in list(new):
            person.groups.add(group)
            cls.objects.get_or_create(user=person, group=group)
