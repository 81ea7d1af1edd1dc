"""Audiences: the people, groups, or everyone who signs in, for whom something is shared.

A model derives from `AudienceEntry` and has a foreign key `target` to what is shared. Every lookup
starts from the person who looks, so a right ends as soon as its entry is removed, the person leaves
the group, or their account is deactivated or erased.
"""

from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

from chatapp.models.accounts.users import User

EVERYONE = "Everyone who signs in"


class AudienceEntry(models.Model):
    """One person or the members of one group; everyone who signs in if both are None."""

    person = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, null=True, related_name="+")

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(
                fields=["target", "person"],
                condition=Q(person__isnull=False),
                name="%(class)s_of_a_person",
            ),
            models.UniqueConstraint(
                fields=["target", "group"],
                condition=Q(group__isnull=False),
                name="%(class)s_of_a_group",
            ),
            models.UniqueConstraint(
                fields=["target"],
                condition=Q(person=None, group=None),
                name="%(class)s_of_everyone",
            ),
            models.CheckConstraint(
                condition=Q(person=None) | Q(group=None), name="%(class)s_of_one_or_all"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The person's or the group's name; see `EVERYONE`."""
        if self.person:
            return str(self.person)
        return str(self.group or EVERYONE)


def is_for(user: User) -> Q:
    """Return the condition that an entry is for this person."""
    everyone = Q(person=None, group=None)
    return everyone | Q(person=user) | Q(group__in=Group.objects.filter(user=user))


def find_colleagues(user: User) -> "models.QuerySet[User]":
    """Return the other people whom this person may see by name.

    Those are the active members of their groups; administrators see everybody.
    """
    others = User.objects.filter(is_active=True).exclude(pk=user.pk).order_by("username")
    if user.administers:
        return others
    return others.filter(groups__in=Group.objects.filter(user=user)).distinct()


def person_to_share_with(login: str) -> User | None:
    """Return the active person who signs in by this username or email address.

    Anybody may name a person whom they know, but nobody can list or search those outside of their
    groups.
    """
    person = User.find_by_login(login)
    return person if person and person.is_active else None
