"""The sidebar's date headings, by the reader's calendar."""

from datetime import date, datetime, timezone


def heading(used: date, today: date) -> str:
    days = (today - used).days
    if days <= 0:  # a date in the future comes from a wrong clock
        return "Today"
    if days == 1:
        return "Yesterday"
    if days <= 7:
        return "Previous 7 days"
    return f"{used:%B}" if used.year == today.year else f"{used:%B %Y}"


class Headings:
    """Headings of a list with the newest first; each appears once, above its first row."""

    def __init__(self, now: datetime, zone: timezone) -> None:
        self._zone = zone
        self._today = now.astimezone(zone).date()
        self._last = ""

    def next(self, used: datetime) -> str:
        """Return the heading above a row last used at this time; "" if it was returned before."""
        title = heading(used.astimezone(self._zone).date(), self._today)
        last, self._last = self._last, title
        return "" if title == last else title
