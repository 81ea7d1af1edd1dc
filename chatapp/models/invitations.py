"""Invitations: links by which people make their own account, with what it may be from the start.

Of a link the hash alone is kept, so that nobody who reads the database can use one. An address that
an account had and has no more is in no invitation.
"""

import secrets
from collections.abc import Collection
from datetime import timedelta
from hashlib import sha256
from typing import Self

from django.contrib.auth.models import Group
from django.db import models, transaction
from django.db.models import F
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.utils import timezone

from chatapp.models import audit
from chatapp.models.installation import Installation
from chatapp.models.refusals import Refused
from chatapp.models.users import User

SELF_SERVICE = timedelta(days=1)  # of who asked for it by an address of a domain that may
UNKNOWN = "This is no invitation of this server. Check that the link is whole."
CLOSED = "This server takes no new people at the moment. Ask an administrator."
REVOKED = "This invitation was taken back. Ask an administrator for another one."
EXPIRED = "This invitation has expired. Ask an administrator for another one."
USED_UP = "This invitation was used already. Ask an administrator for one of your own."
TAKEN = "An account has this invitation's address already. Sign in, or ask an administrator."
OVERTAKEN = (
    "Whoever made this invitation may not give its role any more. Ask an administrator for another."
)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> Self:
        """Those that can be used still."""
        now = timezone.now()
        return self.filter(revoked_at=None, expires_at__gt=now, used__lt=F("uses"))

    def forget_address(self, address: str) -> None:
        """Deletes those to the address of an account that leaves it."""
        if address:
            self.filter(address__iexact=address).delete()


class Invitation(models.Model):
    token_hash = models.CharField(max_length=64, unique=True)
    address = models.EmailField(blank=True)  # whom it is for, where that is known
    administers = models.BooleanField(default=False)
    reviews = models.BooleanField(default=False)
    group = models.ForeignKey(Group, models.SET_NULL, null=True, blank=True, related_name="+")
    uses = models.PositiveIntegerField(default=1)
    used = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    # Nobody's, where somebody asked for it by their address.
    made_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")

    objects = models.Manager.from_queryset(InvitationQuerySet)()

    def __str__(self) -> str:
        return f"Invitation {self.pk}"

    def make_token(self) -> str:
        """The secret of its link, which is told this once."""
        token = secrets.token_urlsafe(32)
        self.token_hash = _hash(token)
        return token

    @classmethod
    def of(cls, token: str) -> "Invitation":
        """That of this link; raises `Refused` where it can't be used."""
        found = cls.objects.select_related("made_by", "group").filter(token_hash=_hash(token))
        invitation = found.first()
        if invitation is None:
            raise Refused(UNKNOWN)
        if problem := invitation.problem:
            raise Refused(problem)
        return invitation

    @property
    def problem(self) -> str:
        """Why it can't be used, as a sentence; "" where it can."""
        if Installation.this().signup == Installation.SignUp.CLOSED:
            return CLOSED
        if self.revoked_at:
            return REVOKED
        if self.used >= self.uses:
            return USED_UP
        if self.expires_at <= timezone.now():
            return EXPIRED
        if self.address and User.objects.filter(email__iexact=self.address).exists():
            return TAKEN
        maker = self.made_by
        if maker and not maker.is_active:
            return REVOKED
        has_role = self.administers or self.reviews
        if has_role and not (maker and maker.is_active and maker.administers):
            return OVERTAKEN
        return ""

    @property
    def state(self) -> str:
        """Of itself, whatever else keeps it from being used: open, or what ended it."""
        if self.used >= self.uses:
            return "used"
        if self.revoked_at:
            return "taken back"
        return "expired" if self.expires_at <= timezone.now() else "open"

    @property
    def roles(self) -> list[str]:
        return User(
            is_staff=self.administers, is_superuser=self.administers, reviews=self.reviews
        ).roles

    @transaction.atomic
    def accept(self, person: User) -> None:
        """Stores the new account; raises `Refused` where others were quicker.

        The count is raised by the statement that checks it, so that of two at once one alone gets
        the last use.
        """
        if not Invitation.objects.open().filter(pk=self.pk).update(used=F("used") + 1):
            self.refresh_from_db()
            raise Refused(self.problem or USED_UP)
        if problem := self.problem:  # `used` is as it was read before
            raise Refused(problem)
        person.is_superuser, person.reviews = self.administers, self.reviews
        person.is_staff = self.administers or self.reviews
        person.save()
        if self.group:
            person.groups.add(self.group)
        audit.record("person.joined", actor=person, about=self, detail={"roles": person.roles})

    def revoke(self) -> None:
        Invitation.objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())


@receiver(pre_save, sender=User)
def _forget_former_address(
    instance: User, update_fields: Collection[str] | None, raw: bool, **_: object
) -> None:
    if raw or instance.pk is None or (update_fields is not None and "email" not in update_fields):
        return
    former = User.objects.filter(pk=instance.pk).values_list("email", flat=True).first() or ""
    if former.casefold() != instance.email.casefold():
        Invitation.objects.forget_address(former)


def _hash(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()
