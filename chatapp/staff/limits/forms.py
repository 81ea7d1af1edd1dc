"""Forms in which administrators enter limits and prices. Each error says what to do."""

from datetime import datetime, time
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.utils import timezone

from chatapp.models import Limit, Price, Upstream
from chatapp.models.billing.limits import MAX_CAP, Measure, Period
from chatapp.models.billing.prices import DOLLAR, FIGURES
from chatapp.models.billing.prices import MAX_PRICE as MAX_PRICE
from chatapp.models.platform import calendar
from chatapp.staff.pickers.fields import PersonField, PickerInput
from chatapp.text.decimals import DecimalField
from chatapp.text.visible import VisibleCharField

EACH = {"each", "group_each"}
OF_GROUP = {"group", "group_each"}
WHOSE = [
    ("each", "Each person separately"),
    ("all", "Everybody together"),
    ("person", "One person"),
    ("group", "A group together"),
    ("group_each", "Each member of a group separately"),
]


class LimitForm(forms.Form):
    """A form that adds a limit, or changes the one passed as `limit`."""

    amount = DecimalField(
        label="Amount",
        min_value=0,
        max_digits=24,
        decimal_places=9,
        widget=forms.TextInput(
            attrs={"inputmode": "decimal", "autocomplete": "off", "placeholder": "500000"}
        ),
    )
    measure = forms.ChoiceField(label="Unit", choices=Measure.choices)
    period = forms.ChoiceField(
        label="Period",
        choices=[(Period.DAY, "per day"), (Period.MONTH, "per month"), (Period.EVER, "in total")],
        initial=Period.MONTH,
    )
    whose = forms.ChoiceField(label="For", choices=WHOSE)
    person = PersonField(label="Person", required=False)
    group = forms.ModelChoiceField(
        Group.objects.order_by("name"), label="Group", required=False, empty_label="Choose a group"
    )
    upstream = forms.ModelChoiceField(
        Upstream.objects.defer("api_key"),
        label="Provider",
        required=False,
        empty_label="All providers",
    )
    model = forms.CharField(
        label="Model",
        required=False,
        max_length=200,
        widget=PickerInput("pick-models", provider="upstream", placeholder="Any model"),
    )
    whom_to_ask = VisibleCharField(
        label="Contact for a higher limit",
        required=False,
        max_length=100,
        help_text="Shown to people who reach the limit, for example: Olive, at extension 12. "
        "Leave empty for “an administrator”.",
    )

    def __init__(self, *arguments: Any, limit: Limit | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.limit = limit or Limit()
        if limit and not self.is_bound:
            self.initial = _build_limit_initial(limit)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        whose = data.get("whose")
        if whose == "person" and not data.get("person") and "person" not in self.errors:
            self.add_error("person", "Choose a person.")
        if whose in OF_GROUP and not data.get("group") and "group" not in self.errors:
            self.add_error("group", "Choose a group.")
        if data.get("model") and not data.get("upstream"):
            self.add_error("upstream", "Choose the provider that has this model.")
        self._set_cap(data.get("amount"), data.get("measure"))
        return data

    def build_instance(self) -> Limit:
        """Return the limit with the entered values, unsaved."""
        data, limit = self.cleaned_data, self.limit
        whose = data["whose"]
        limit.measure, limit.cap, limit.period = data["measure"], self._cap, data["period"]
        limit.user = data["person"] if whose == "person" else None
        limit.group = data["group"] if whose in OF_GROUP else None
        limit.is_each = whose in EACH
        limit.upstream, limit.model = data["upstream"], data["model"]
        limit.whom_to_ask = data["whom_to_ask"]
        return limit

    def _set_cap(self, amount: Decimal | None, measure: str | None) -> None:
        if amount is None or measure is None:
            return
        if measure != Measure.MONEY and amount % 1:
            self.add_error("amount", "Enter a whole number; only US dollars have cents.")
        self._cap = int(amount * (DOLLAR if measure == Measure.MONEY else 1))
        if self._cap > MAX_CAP:
            self.add_error("amount", "This amount is too large. Enter a smaller one.")


class PriceForm(forms.Form):
    """A form that adds or changes a model's price, valid from a given day."""

    upstream = forms.ModelChoiceField(Upstream.objects.defer("api_key"), label="Provider")
    model = forms.CharField(
        label="Model",
        max_length=200,
        help_text="The model ID, as the provider lists it.",
        widget=PickerInput("pick-models", provider="upstream"),
    )
    holds_from = forms.DateField(
        label="Valid from",
        initial=lambda: timezone.localtime(timezone=calendar.zone()).date(),
        help_text="Earlier replies keep their cost.",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    context_tokens = forms.IntegerField(
        label="Context", required=False, min_value=1, max_value=10**9, help_text="In tokens."
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name, label, help_text in (
            ("input", "Input", "US dollars per million tokens."),
            ("output", "Output", "US dollars per million tokens."),
            ("cached", "Cached input", "Leave empty to use the input price."),
            ("cache_write", "Cache writes", "Leave empty to use the input price."),
            ("reasoning", "Reasoning", "Leave empty to use the output price."),
        ):
            self.fields[name] = DecimalField(
                label=label,
                help_text=help_text,
                required=name in ("input", "output"),
                min_value=0,
                max_value=MAX_PRICE // DOLLAR,
                max_digits=15,
                decimal_places=9,
                widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
            )
        self.order_fields(["upstream", "model", "input", "output"])

    def clean_holds_from(self) -> datetime:
        """Return midnight of that day in the installation's time zone."""
        day = self.cleaned_data["holds_from"]
        if not 2000 <= day.year < 3000:
            raise ValidationError("Enter a date in this century, for example 2026-11-22.")
        return datetime.combine(day, time(), calendar.zone())

    def build_instance(self) -> Price:
        """Return the entered price, unsaved; amounts are nano-dollars per million tokens."""
        data = dict(self.cleaned_data)
        for name in FIGURES:
            data[name] = None if data[name] is None else int(data[name] * DOLLAR)
        return Price(source=Price.Source.ADMINISTRATOR, **data)


def build_price_initial(price: Price) -> dict[str, Any]:
    """Return the initial values of the form for a stored price."""
    figures = {name: getattr(price, name) for name in FIGURES}
    return {
        "upstream": price.upstream_id,
        "model": price.model,
        "holds_from": price.holds_from.astimezone(calendar.zone()).date(),
        "context_tokens": price.context_tokens,
        **{
            name: None if figure is None else _in_dollars(figure)
            for name, figure in figures.items()
        },
    }


def _build_limit_initial(limit: Limit) -> dict[str, Any]:
    """Return the initial values of the form for a stored limit."""
    money = limit.measure == Measure.MONEY
    whose = "each" if limit.is_each else "all"
    if limit.user_id:
        whose = "person"
    elif limit.group_id:
        whose = "group_each" if limit.is_each else "group"
    return {
        "amount": _in_dollars(limit.cap) if money else limit.cap,
        "measure": limit.measure,
        "period": limit.period,
        "whose": whose,
        "person": limit.user.username if limit.user else "",
        "group": limit.group_id,
        "upstream": limit.upstream_id,
        "model": limit.model,
        "whom_to_ask": limit.whom_to_ask,
    }


def _in_dollars(nano_dollars: int) -> str:
    """Return an amount as people type it, such as "0.15"."""
    return f"{Decimal(nano_dollars) / DOLLAR:.9f}".rstrip("0").rstrip(".")
