"""The browsers in which people are signed in: whose each session is, and when it was used last.

The row is stored in the transaction that stores the session, so that an index finds all sessions of
a person. What holds is the session: a row without one means nothing.
"""

from django.contrib.sessions.models import Session
from django.db import models
from django.utils import timezone

from chatapp.models.users import User

LONGEST_AGENT = 300


class DeviceQuerySet(models.QuerySet["Device"]):
    def living(self) -> "DeviceQuerySet":
        """Those that are signed in and whose session has not ended, the one used last first."""
        there = Session.objects.filter(
            session_key=models.OuterRef("session_key"), expire_date__gt=timezone.now()
        )
        return self.filter(models.Exists(there), is_signed_in=True).order_by("-seen_at", "pk")

    def sign_out(self) -> int:
        """Ends the sessions; returns how many there were."""
        ended, _ = Session.objects.filter(pk__in=self.values("session_key")).delete()
        self.delete()
        return ended


class Device(models.Model):
    session_key = models.CharField(max_length=40, unique=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="devices")
    # Until the second factor is given it is not.
    is_signed_in = models.BooleanField(default=True, db_default=True)
    agent = models.CharField(max_length=LONGEST_AGENT, blank=True)  # as the browser names itself
    address = models.GenericIPAddressField(null=True)
    began_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = models.Manager.from_queryset(DeviceQuerySet)()

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Its browser and system, as far as they say so."""
        browser = _first_in(self.agent, BROWSERS) or "A browser"
        system = _first_in(self.agent, SYSTEMS)
        return f"{browser} on {system}" if system else browser


# What stands in a browser's name for itself; the first that does is meant, since most also name
# those that they want to be taken for.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "FxiOS": "Firefox",
    "CriOS": "Chrome",
    "Chromium/": "Chromium",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "CrOS": "ChromeOS",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}


def _first_in(agent: str, known: dict[str, str]) -> str:
    return next((name for mark, name in known.items() if mark in agent), "")
