"""Invitations: links with which people create their own account, with a role and a group.

Only the hash of a link's token is stored, so that nobody who reads the database can use it. When an
account's email address changes, invitations to the former address are deleted.
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
from chatapp.models.accounts.users import User
from chatapp.models.platform.installation import Installation
from chatapp.models.refusals import Refused

SELF_SERVICE = timedelta(days=1)  # the life of an invitation that a person requested by email
UNKNOWN = "This invitation link isn't valid. Check that you copied the whole link."
CLOSED = "Sign-up is closed at the moment. Ask an administrator."
REVOKED = "This invitation was revoked. Ask an administrator for a new one."
EXPIRED = "This invitation has expired. Ask an administrator for a new one."
USED_UP = "This invitation has already been used. Ask an administrator for your own."
TAKEN = "There is already an account with this email address. Sign in, or ask an administrator."
OVERTAKEN = (
    "The person who invited you can no longer give this role. Ask an administrator for a new "
    "invitation."
)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> Self:
        """Return those that can still be used."""
        now = timezone.now()
        return self.filter(revoked_at=None, expires_at__gt=now, used__lt=F("uses"))

    def forget_address(self, address: str) -> None:
        """Delete invitations to an address that its account gives up; do nothing for ""."""
        if address:
            self.filter(address__iexact=address).delete()


class Invitation(models.Model):
    token_hash = models.CharField(max_length=64, unique=True)
    address = models.EmailField(blank=True)  # who it is for, if known
    administers = models.BooleanField(default=False)
    reviews = models.BooleanField(default=False)
    group = models.ForeignKey(Group, models.SET_NULL, null=True, blank=True, related_name="+")
    uses = models.PositiveIntegerField(default=1)
    used = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    # None if the invited person requested it by email.
    made_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")

    objects = models.Manager.from_queryset(InvitationQuerySet)()

    def __str__(self) -> str:
        return f"Invitation {self.pk}"

    def make_token(self) -> str:
        """Return a new token for the link, and keep its hash. It can't be shown again."""
        token = secrets.token_urlsafe(32)
        self.token_hash = _hash(token)
        return token

    @classmethod
    def get_by_token(cls, token: str) -> "Invitation":
        """Return the invitation with this token. Raises `Refused` if it can't be used."""
        invitations = cls.objects.select_related("made_by", "group").filter(token_hash=_hash(token))
        invitation = invitations.first()
        if invitation is None:
            raise Refused(UNKNOWN)
        if problem := invitation.problem:
            raise Refused(problem)
        return invitation

    @property
    def problem(self) -> str:
        """The reason why it can't be used, as a sentence; "" if it can."""
        if Installation.load().signup == Installation.SignUp.CLOSED:
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
        """Its own state, whatever else keeps it from being used: open, or what ended it."""
        if self.used >= self.uses:
            return "used"
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at <= timezone.now() else "open"

    @property
    def roles(self) -> list[str]:
        return User(
            is_staff=self.administers, is_superuser=self.administers, reviews=self.reviews
        ).roles

    @transaction.atomic
    def accept(self, person: User) -> None:
        """Store the new account. Raises `Refused` if the invitation was used up in the meantime.

        One statement checks and increments the count, so that only one of two concurrent requests
        gets the last use.
        """
        if not Invitation.objects.open().filter(pk=self.pk).update(used=F("used") + 1):
            self.refresh_from_db()
            raise Refused(self.problem or USED_UP)
        if problem := self.problem:  # judged with `used` as it was before the update
            raise Refused(problem)
        person.is_superuser, person.reviews = self.administers, self.reviews
        person.is_staff = self.administers or self.reviews
        person.save()
        if self.group:
            person.groups.add(self.group)
        audit.record("person.joined", actor=person, about=self, detail={"roles": person.roles})

    def renew(self, by: User) -> str:
        """Replace the link by one that is valid as long as the first one was.

        Returns the new token, or "" if the invitation was used up or revoked. From now on it is an
        invitation by this person.
        """
        now = timezone.now()
        token = self.make_token()
        self.made_by, self.expires_at = by, now + (self.expires_at - self.created_at)
        renewed = Invitation.objects.filter(pk=self.pk, revoked_at=None, used__lt=F("uses")).update(
            token_hash=self.token_hash,
            made_by=by,
            created_at=now,
            expires_at=self.expires_at,
        )
        return token if renewed else ""

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
