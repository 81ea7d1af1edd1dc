"""The form of the address of a usage page: a period, a grouping and a measure.

Unknown values fall back to the default.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.timezone import now

from chatapp.models.platform.calendar import get_day
from chatapp.staff.usage.periods import DAY, Period
from chatapp.staff.usage.queries import UsageQuery, has_known_costs

CUSTOM = "custom"
DEFAULT = "30"
PERIODS = {
    "7": "7 days",
    DEFAULT: "30 days",
    "month": "This month",
    "year": "12 months",
    CUSTOM: "Custom",
}
OWN = {"model": "Model", "upstream": "Provider", "day": "Day"}
BY = {
    "model": "Model",
    "upstream": "Provider",
    "person": "Person",
    "group": "Group",
    "preset": "Preset",
    "day": "Day",
}
MEASURES = {"cost": "Cost", "tokens": "Tokens", "answers": "Replies"}
MAX_DAYS = 366


class UsageForm(forms.Form):
    """The filter of a usage page, and the form for a period of one's own."""

    since = forms.DateField(label="From", widget=forms.DateInput({"type": "date"}))
    until = forms.DateField(label="To", widget=forms.DateInput({"type": "date"}))

    def __init__(self, query: QueryDict, person: int | None = None) -> None:
        self.today = get_day(now())
        self.person = person
        self.groupings = OWN if person else BY
        self.period = _choose(PERIODS, query.get("period"), DEFAULT)
        self.by = _choose(self.groupings, query.get("by"), "model")
        self.chosen_measure = _choose(MEASURES, query.get("measure"), "")
        days = {"since": f"{self.today - 29 * DAY}", "until": f"{self.today}"}
        super().__init__(days | {name: query[name] for name in days if query.get(name)})

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        since, until = data.get("since"), data.get("until")
        if since and until and not date(2000, 1, 1) <= since <= until <= self.today:
            self.add_error("since", "Choose days up to today, the first one first.")
        elif since and until and (until - since).days >= MAX_DAYS:
            self.add_error("since", f"Choose at most {MAX_DAYS} days.")
        return data

    @property
    def criteria(self) -> UsageQuery:
        period = self._period()
        default = "cost" if has_known_costs(period, self.person) else "tokens"
        return UsageQuery(period, self.by, self.chosen_measure or default, self.person)

    def _period(self) -> Period:
        """Return the chosen period; 30 days if its days are not valid."""
        if self.period == CUSTOM and self.is_valid():
            return Period.between(self.cleaned_data["since"], self.cleaned_data["until"])
        if self.period == "month":
            return Period.of_month(self.today)
        if self.period == "year":
            return Period.of_year(self.today)
        return Period.of_days(7 if self.period == "7" else 30, self.today)

    @property
    def link_parameters(self) -> dict[str, str]:
        """The parameters that the links of the page keep."""
        days = {"since": self.data["since"], "until": self.data["until"]}
        parameters = {"period": self.period, "by": self.by, "measure": self.chosen_measure}
        return parameters | (days if self.period == CUSTOM else {})


def _choose(choices: Mapping[str, str], value: str | None, default: str) -> str:
    return value if value and value in choices else default
