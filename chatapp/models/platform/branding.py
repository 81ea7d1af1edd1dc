"""The installation's name, colours and logo, cached in this process for every page.

They are read at the start of a request (`chatapp.server.middleware.branding`), so that templates
make no queries and error pages need no database.
"""

import time
from dataclasses import dataclass

OWN_NAME = "chatapp"
OWN_ACCENT = "#1d6469"  # as in static/icon.svg; base/palette.css has it in OKLCH
FRESH_SECONDS = 10.0  # after which a process reads it again


@dataclass(frozen=True)
class Branding:
    name: str = OWN_NAME
    accent: str = ""  # on light pages; "" is the app's own
    accent_dark: str = ""
    logo: str = ""  # the logo's version; "" without a logo

    @property
    def accent_version(self) -> str:
        return f"{self.accent}{self.accent_dark}".replace("#", "")


_branding = Branding()
_read_at: float | None = None


def get_branding() -> Branding:
    return _branding


def is_fresh() -> bool:
    return _read_at is not None and time.monotonic() - _read_at <= FRESH_SECONDS


def postpone_refresh() -> None:
    """Start the ten seconds before the query: if the database is down, not every request waits."""
    global _read_at
    _read_at = time.monotonic()


def set_branding(branding: Branding) -> None:
    global _branding
    _branding = branding


def expire_branding() -> None:
    """Have this process read it again; the other processes do so within ten seconds."""
    global _read_at
    _read_at = None
