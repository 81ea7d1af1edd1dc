"""Under which heading of the sidebar a conversation stands, by the calendar of who looks."""

from datetime import date, datetime, timezone


def heading(used: date, today: date) -> str:
    days = (today - used).days
    if days <= 0:  # tomorrow too: a clock that was wrong
        return "Today"
    if days == 1:
        return "Yesterday"
    if days <= 7:
        return "Previous 7 days"
    return f"{used:%B}" if used.year == today.year else f"{used:%B %Y}"


class Headings:
    """Those of a list that goes back in time, each said once: where it begins."""

    def __init__(self, now: datetime, zone: timezone) -> None:
        self._zone = zone
        self._today = now.astimezone(zone).date()
        self._last = ""

    def next(self, used: datetime) -> str:
        """The heading above what was used at this moment; empty where it stands already."""
        found = heading(used.astimezone(self._zone).date(), self._today)
        last, self._last = self._last, found
        return "" if found == last else found
