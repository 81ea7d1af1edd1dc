"""The browsers in which people are signed in: the owner of each session, and its last use.

A row is stored in the transaction that stores the session, so that all sessions of a person are
found by an index. The session is what counts: a row without a session is ignored.
"""

from django.contrib.sessions.models import Session
from django.db import models
from django.utils import timezone

from chatapp.models.accounts.users import User

MAX_AGENT_LENGTH = 300


class DeviceQuerySet(models.QuerySet["Device"]):
    def living(self) -> "DeviceQuerySet":
        """Return the signed-in devices with a session that has not expired, last used first."""
        sessions = Session.objects.filter(
            session_key=models.OuterRef("session_key"), expire_date__gt=timezone.now()
        )
        return self.filter(models.Exists(sessions), is_signed_in=True).order_by("-seen_at", "pk")

    def sign_out(self) -> int:
        """End the sessions; return how many there were."""
        ended, _ = Session.objects.filter(pk__in=self.values("session_key")).delete()
        self.delete()
        return ended


class Device(models.Model):
    session_key = models.CharField(max_length=40, unique=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="devices")
    # False until the second factor was given.
    is_signed_in = models.BooleanField(default=True, db_default=True)
    agent = models.CharField(max_length=MAX_AGENT_LENGTH, blank=True)  # the User-Agent header
    address = models.GenericIPAddressField(null=True)
    began_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = models.Manager.from_queryset(DeviceQuerySet)()

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The browser and operating system, as far as the user agent names them."""
        browser = _match_agent(self.agent, BROWSERS) or "A browser"
        system = _match_agent(self.agent, SYSTEMS)
        return f"{browser} on {system}" if system else browser


# Substrings of user agents. The first match counts, because most browsers also name those that they
# are compatible with.
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


def _match_agent(agent: str, names_by_mark: dict[str, str]) -> str:
    return next((name for mark, name in names_by_mark.items() if mark in agent), "")
