"""What an administrator sends of limits and prices: each error says what to do."""

from datetime import datetime, time
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.utils import timezone

from chatapp.models import Limit, Price, Upstream, User
from chatapp.models.limits import MOST, Measure, Period
from chatapp.models.prices import DOLLAR
from chatapp.models.prices import MOST as DEAREST
from chatapp.text.visible import SeenField

EACH = {"each", "group_each"}
OF_GROUP = {"group", "group_each"}
WHOSE = [
    ("each", "Each person, apart from the others"),
    ("all", "Everybody together"),
    ("person", "One person"),
    ("group", "A group together"),
    ("group_each", "Each person of a group, apart from the others"),
]


class LimitForm(forms.Form):
    """A new limit, or another form of one that stands."""

    amount = forms.DecimalField(
        label="Amount",
        min_value=0,
        max_digits=24,
        decimal_places=9,
        help_text="0 allows nothing.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    measure = forms.ChoiceField(label="Of", choices=Measure.choices)
    period = forms.ChoiceField(
        label="In",
        choices=[(Period.DAY, "a day"), (Period.MONTH, "a month"), (Period.EVER, "all, for good")],
        initial=Period.MONTH,
        help_text="Of tokens and US dollars. It counts from now on.",
    )
    whose = forms.ChoiceField(label="For", choices=WHOSE)
    person = forms.CharField(
        label="Person",
        required=False,
        max_length=150,
        help_text="Their username, where it is for one person.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    group = forms.ModelChoiceField(
        Group.objects.order_by("name"), label="Group", required=False, empty_label="None"
    )
    upstream = forms.ModelChoiceField(
        Upstream.objects.defer("api_key"),
        label="Upstream",
        required=False,
        empty_label="Every one",
    )
    model = forms.CharField(
        label="Model",
        required=False,
        max_length=200,
        help_text="Its id, where it is for one model of that upstream.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    whom_to_ask = SeenField(
        label="Whom to ask for more",
        required=False,
        max_length=100,
        help_text="Who has reached it reads this, for example: Olive, at extension 12. Empty: an "
        "administrator.",
    )

    def __init__(self, *arguments: Any, limit: Limit | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.limit = limit or Limit()
        if limit and not self.is_bound:
            self.initial = _fields_of(limit)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        whose = given.get("whose")
        if whose == "person":
            self._find_person(given.get("person", ""))
        if whose in OF_GROUP and not given.get("group") and "group" not in self.errors:
            self.add_error("group", "Choose the group that it is for.")
        if given.get("model") and not given.get("upstream"):
            self.add_error("upstream", "Choose the upstream that has this model.")
        self._count(given.get("amount"), given.get("measure"))
        return given

    def kept(self) -> Limit:
        """The limit as it is now; who calls this saves it."""
        given, limit = self.cleaned_data, self.limit
        whose = given["whose"]
        limit.measure, limit.cap, limit.period = given["measure"], self._cap, given["period"]
        limit.user = self._person if whose == "person" else None
        limit.group = given["group"] if whose in OF_GROUP else None
        limit.is_each = whose in EACH
        limit.upstream, limit.model = given["upstream"], given["model"]
        limit.whom_to_ask = given["whom_to_ask"]
        return limit

    def _find_person(self, username: str) -> None:
        self._person = User.objects.filter(username__iexact=username).first() if username else None
        if self._person is None:
            self.add_error("person", "Enter the username of somebody who has an account.")

    def _count(self, amount: Decimal | None, measure: str | None) -> None:
        if amount is None or measure is None:
            return
        if measure != Measure.MONEY and amount % 1:
            self.add_error("amount", "Enter a whole number; only US dollars have cents.")
        self._cap = int(amount * (DOLLAR if measure == Measure.MONEY else 1))
        if self._cap > MOST:
            self.add_error("amount", "This is more than can be counted. Enter less.")


class PriceForm(forms.Form):
    """What a model costs from a day on."""

    upstream = forms.ModelChoiceField(Upstream.objects.defer("api_key"), label="Upstream")
    model = forms.CharField(
        label="Model",
        max_length=200,
        help_text="Its id, as the upstream lists it.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    holds_from = forms.DateField(
        label="Holds from",
        initial=lambda: timezone.localtime(timezone=Limit.zone()).date(),
        help_text="What was booked before stays as it is.",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    context_tokens = forms.IntegerField(
        label="Context", required=False, min_value=1, max_value=10**9, help_text="In tokens."
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name, label, help_text in (
            ("input", "Input", "US dollars for a million tokens."),
            ("output", "Output", "US dollars for a million tokens."),
            ("cached", "Input from a cache", "Empty: as all input."),
            ("cache_write", "Input written to a cache", "Empty: as all input."),
            ("reasoning", "Reasoning", "Empty: as all output."),
        ):
            self.fields[name] = forms.DecimalField(
                label=label,
                help_text=help_text,
                required=name in ("input", "output"),
                min_value=0,
                max_value=DEAREST // DOLLAR,
                max_digits=15,
                decimal_places=9,
                widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
            )
        self.order_fields(["upstream", "model", "input", "output"])

    def clean_holds_from(self) -> datetime:
        """Midnight of the installation's zone."""
        day = self.cleaned_data["holds_from"]
        if not 2000 <= day.year < 3000:
            raise ValidationError("Enter a day of this century, for example 2026-11-22.")
        return datetime.combine(day, time(), Limit.zone())

    def kept(self) -> Price:
        """The price, not saved yet."""
        given = dict(self.cleaned_data)
        for name in ("input", "output", "cached", "cache_write", "reasoning"):
            given[name] = None if given[name] is None else int(given[name] * DOLLAR)
        return Price(source=Price.Source.ADMINISTRATOR, **given)


def _fields_of(limit: Limit) -> dict[str, Any]:
    money = limit.measure == Measure.MONEY
    whose = "each" if limit.is_each else "all"
    if limit.user_id:
        whose = "person"
    elif limit.group_id:
        whose = "group_each" if limit.is_each else "group"
    return {
        "amount": f"{Decimal(limit.cap) / DOLLAR:.9f}".rstrip("0").rstrip(".")
        if money
        else limit.cap,
        "measure": limit.measure,
        "period": limit.period,
        "whose": whose,
        "person": limit.user.username if limit.user else "",
        "group": limit.group_id,
        "upstream": limit.upstream_id,
        "model": limit.model,
        "whom_to_ask": limit.whom_to_ask,
    }
