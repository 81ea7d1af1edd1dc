"""Whose app this is: what each page says of it, as this process remembers it.

It is read at the begin of a request (chatapp/middleware/branding.py), so that no template asks the
database, and pages of failures need none.
"""

import time
from dataclasses import dataclass

OWN_NAME = "chatapp"
OWN_ACCENT = "#1d6469"  # as static/icon.svg has it; palette.css says it in its own way
FRESH_SECONDS = 10.0  # after which a process asks again


@dataclass(frozen=True)
class Branding:
    name: str = OWN_NAME
    accent: str = ""  # on a light page; "" is the app's own
    accent_dark: str = ""
    logo: str = ""  # its version; "" without one

    @property
    def accent_version(self) -> str:
        return f"{self.accent}{self.accent_dark}".replace("#", "")


_known = Branding()
_asked_at: float | None = None


def known() -> Branding:
    return _known


def is_fresh() -> bool:
    return _asked_at is not None and time.monotonic() - _asked_at <= FRESH_SECONDS


def ask_again_later() -> None:
    """Whatever comes of asking: where the database is away, not every request waits for it."""
    global _asked_at
    _asked_at = time.monotonic()


def remember(branding: Branding) -> None:
    global _known
    _known = branding


def forget() -> None:
    """So that it is asked for anew; others do so by themselves after ten seconds."""
    global _asked_at
    _asked_at = None
