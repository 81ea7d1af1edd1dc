"""Blanks that are filled in by themselves. Their names are those of Open WebUI."""

from collections.abc import Mapping
from datetime import datetime

from chatapp.models import User

CLIPBOARD = "CLIPBOARD"  # asked for, and filled by the page if the browser lets it


def automatic_values(user: User, now: datetime) -> Mapping[str, str]:
    """Return the values by the blanks' names. `now` is in the person's time zone."""
    return {
        "CURRENT_DATE": f"{now:%Y-%m-%d}",
        "CURRENT_TIME": f"{now:%H:%M}",
        "CURRENT_DATETIME": f"{now:%Y-%m-%d %H:%M}",
        "CURRENT_WEEKDAY": f"{now:%A}",
        "CURRENT_TIMEZONE": f"{now:%Z}",
        "USER_NAME": user.display_name,
        "USER_EMAIL": user.email,
    }
