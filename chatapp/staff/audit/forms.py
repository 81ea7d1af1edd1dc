"""The filter form of the audit log. Fields with invalid values are ignored."""

from datetime import date

from django import forms

from chatapp.models.audit import ACTIONS
from chatapp.staff.audit.queries import MAX_BIGINT, AuditFilter
from chatapp.staff.audit.summaries import words_of

LAST_DAY = date(9998, 12, 31)  # so that there is a next day


class FilterForm(forms.Form):
    action = forms.ChoiceField(
        label="Action",
        required=False,
        choices=[("", "Any"), *((one, words_of(one)) for one in ACTIONS)],
    )
    actor = forms.CharField(label="By", required=False, max_length=150)
    about = forms.CharField(label="Person or item", required=False, max_length=150)
    since = forms.DateField(
        label="From", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        label="To", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    before = forms.IntegerField(
        required=False, min_value=0, max_value=MAX_BIGINT, widget=forms.HiddenInput
    )

    def clean_until(self) -> date | None:
        until: date | None = self.cleaned_data["until"]
        return min(until, LAST_DAY) if until else None

    @property
    def parsed(self) -> AuditFilter:
        self.is_valid()
        known = {
            name: value for name, value in self.cleaned_data.items() if value not in (None, "")
        }
        return AuditFilter(**known)
