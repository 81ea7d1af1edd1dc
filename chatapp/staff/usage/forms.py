"""The filter of the usage pages: a period, a grouping and a measure.

Unknown values fall back to the default.
"""

from django import forms
from django.http import QueryDict

from chatapp.staff.usage.queries import UsageQuery

PERIODS = [("30", "30 days"), ("7", "7 days"), ("90", "90 days"), ("365", "12 months")]
OWN = [("day", "Day"), ("model", "Model"), ("upstream", "Provider")]
BY = [*OWN, ("group", "Group"), ("person", "Person")]
OWN_MEASURES = [
    ("tokens", "Tokens"),
    ("cost", "Cost"),
    ("replies", "Replies"),
    ("first_token", "First token"),
    ("speed", "Speed"),
]
MEASURES = [*OWN_MEASURES, ("people", "People")]


class UsageForm(forms.Form):
    """The filter form. Missing and unknown values mean the first choice of a field."""

    days = forms.ChoiceField(label="Period", choices=PERIODS)
    by = forms.ChoiceField(label="By", choices=BY)
    measure = forms.ChoiceField(label="Measure", choices=MEASURES)

    def __init__(self, query: QueryDict, person: int | None = None) -> None:
        choices = {
            "days": PERIODS,
            "by": OWN if person else BY,
            "measure": OWN_MEASURES if person else MEASURES,
        }
        super().__init__(
            {
                name: value if (value := query.get(name)) in dict(options) else options[0][0]
                for name, options in choices.items()
            }
        )
        for name in ("by", "measure"):
            self.fields[name].widget = forms.Select(choices=choices[name])
        self.person = person

    @property
    def parsed(self) -> UsageQuery:
        self.is_valid()
        data = self.cleaned_data
        return UsageQuery(int(data["days"]), data["by"], data["measure"], self.person)
