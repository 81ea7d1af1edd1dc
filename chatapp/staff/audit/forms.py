"""The filter form of the audit log. Fields with invalid values are ignored."""

from datetime import date, timedelta
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils import timezone

from chatapp.models.audit import ACTIONS
from chatapp.staff.audit.queries import MAX_BIGINT, AuditFilter
from chatapp.staff.audit.summaries import describe_action
from chatapp.staff.pickers.fields import PickerInput
from chatapp.staff.pickers.queries import MAX_WORDS

LAST_DAY = date(9998, 12, 31)  # so that there is a next day
DAYS = {"today": 1, "week": 7, "month": 30}


class FilterForm(forms.Form):
    """The filter of the audit log: who did what to what, and when."""

    actor = forms.CharField(
        label="Done by",
        required=False,
        max_length=150,
        widget=PickerInput("pick-people", placeholder="Anyone"),
    )
    action = forms.CharField(
        label="Action",
        required=False,
        max_length=150,
        widget=PickerInput("audit-actions", placeholder="Anything"),
    )
    about = forms.CharField(
        label="Person or item",
        required=False,
        max_length=150,
        widget=PickerInput("pick-people", placeholder="Any"),
    )
    when = forms.ChoiceField(
        label="When",
        required=False,
        choices=[
            ("", "At any time"),
            ("today", "Today"),
            ("week", "In the last 7 days"),
            ("month", "In the last 30 days"),
            ("days", "From … to …"),
        ],
    )
    since = forms.DateField(
        label="From", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        label="To", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    before = forms.IntegerField(
        required=False, min_value=0, max_value=MAX_BIGINT, widget=forms.HiddenInput
    )

    def __init__(self, query: QueryDict) -> None:
        """Show the words of an action that the address has by its name, and days if it has any."""
        shown_query = query.copy()
        if (action := query.get("action", "")) in ACTIONS:
            shown_query["action"] = describe_action(action)
        if "when" not in query and (query.get("since") or query.get("until")):
            shown_query["when"] = "days"
        super().__init__(shown_query)

    def clean_until(self) -> date | None:
        until: date | None = self.cleaned_data["until"]
        return min(until, LAST_DAY) if until else None

    def clean(self) -> dict[str, Any]:
        """Replace the choice of a time by its days."""
        fields = self.cleaned_data
        when = fields.pop("when", "")
        if when in DAYS:
            since = timezone.now().date() - timedelta(days=DAYS[when] - 1)
            fields |= {"since": since, "until": None}
        elif when != "days":
            fields |= {"since": None, "until": None}
        return fields

    @property
    def criteria(self) -> AuditFilter:
        self.is_valid()
        filled_fields = {
            name: value for name, value in self.cleaned_data.items() if value not in (None, "")
        }
        if action := filled_fields.pop("action", ""):
            filled_fields["actions"] = find_actions(action)
        return AuditFilter(**filled_fields)


def find_actions(words: str) -> list[str]:
    """Return the actions with exactly these words, or else those that have each of them."""
    keywords = words.casefold().split()
    exact = [action for action in ACTIONS if describe_action(action).casefold().split() == keywords]
    return exact or [
        action
        for action in ACTIONS
        if all(word in describe_action(action).casefold() for word in keywords[:MAX_WORDS])
    ]
