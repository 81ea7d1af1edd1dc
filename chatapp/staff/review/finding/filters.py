"""The filter form of the review list. Nothing is listed while any of its fields is invalid."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.forms.renderers import Jinja2

from chatapp.models import (
    MonthlyUsage,
    Review,
    ReviewLabel,
    ReviewRule,
    ReviewSample,
    ReviewSearch,
    ToolServer,
    Upstream,
    User,
)
from chatapp.models.accounts.pseudonyms import find_by_pseudonym
from chatapp.models.billing.prices import DOLLAR
from chatapp.models.review import flags
from chatapp.models.review.conversation_facets import list_called_tools
from chatapp.rendering.fragments.tool_names import readable_name
from chatapp.staff.review.finding.criteria import NONE, ReviewFilter, Show
from chatapp.staff.review.finding.positions import ReviewPosition
from chatapp.text.decimals import DecimalField
from chatapp.tools import CLOCK, shared_registry
from chatapp.tools.tool import NAME_LIMIT
from chatapp.upstream.wire.reply import Ending

ANY = ("", "Any")
DAY = forms.DateInput(attrs={"type": "date"})
LAST_DAY = date(9998, 12, 31)  # so that there is a next day
COMMON = ("person", "since", "until", "model", "flagged", "feedback", "verdict", "label")
NON_FILTER_FIELDS = {"after"}
KEYS = "group", "upstream", "label", "sample"  # fields passed on as primary keys
MAX_TOOLS = 1000
SEARCH_IS_OVER = "This search has expired. Show all chats and search again."


def _models() -> list[tuple[str, str]]:
    """Return choices: the models that anyone has used."""
    used = MonthlyUsage.objects.exclude(model="").order_by("model")
    return [ANY, *((model, model) for model in used.values_list("model", flat=True).distinct())]


def tools_to_choose() -> dict[str, str]:
    """Return what is called of the tools of present servers, by name, as people read it.

    Names of another form are left out: a model may have made them up of what a chat says.
    """
    names = list_called_tools(MAX_TOOLS)
    servers = set(ToolServer.objects.values_list("name", flat=True)) if names else ()
    titles = shared_registry().titles()
    return {
        name: tool_in_words(name, titles.get(name, ""))
        for name in names
        if name == CLOCK.name or (len(name) <= NAME_LIMIT and name.partition("__")[0] in servers)
    }


def tool_in_words(name: str, title: str) -> str:
    tool = readable_name(name, title)
    return f"{tool.words} ({tool.server})" if tool.server else tool.words


def flags_to_choose() -> list[tuple[str, str]]:
    return [
        ANY,
        (flags.ANY, "By anything"),
        (flags.MODERATION, "By moderation"),
        (flags.PERSON, "By the person (thumbs down)"),
        (flags.RULE, "By any rule"),
        *(
            (f"{flags.ONE_RULE}{rule.pk}", f"By the rule {rule.name}")
            for rule in ReviewRule.objects.all()
        ),
        (flags.NONE, "Not flagged"),
    ]


class FilterForm(forms.Form):
    default_renderer = Jinja2()  # Django's engine takes longer for the choices than for the list

    person = forms.CharField(label="Person", required=False, max_length=255)
    since = forms.DateField(label="Last used from", required=False, widget=DAY)
    until = forms.DateField(label="Last used to", required=False, widget=DAY)
    model = forms.ChoiceField(required=False, choices=_models)
    flagged = forms.ChoiceField(
        label="Flagged",
        required=False,
        choices=flags_to_choose,
    )
    feedback = forms.ChoiceField(
        required=False,
        choices=[
            ANY,
            ("up", "Good"),
            ("down", "Bad"),
            ("either", "Good or bad"),
            (NONE, "None"),
        ],
    )
    verdict = forms.ChoiceField(
        required=False, choices=[ANY, (NONE, "None yet"), *Review.Verdict.choices]
    )
    label = forms.ModelChoiceField(
        ReviewLabel.objects.all(), label="Label", required=False, empty_label="Any"
    )
    group = forms.ModelChoiceField(
        Group.objects.order_by("name"), label="Group", required=False, empty_label="Any"
    )
    upstream = forms.ModelChoiceField(
        Upstream.objects.order_by("name"), label="Provider", required=False, empty_label="Any"
    )
    ending = forms.ChoiceField(
        required=False,
        choices=[ANY, *((ending_choice.value, ending_choice.label) for ending_choice in Ending)],
    )
    category = forms.CharField(
        label="Moderation category",
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    tool = forms.CharField(
        label="Tool called",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"list": "tools", "autocomplete": "off"}),
    )
    cost = DecimalField(
        label="Minimum cost (US dollars)",
        required=False,
        min_value=0,
        max_digits=13,
        decimal_places=9,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    replies = forms.IntegerField(
        label="Minimum replies",
        required=False,
        min_value=0,
        max_value=10**6,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    characters = forms.IntegerField(
        label="Minimum characters in prompts and answers",
        required=False,
        min_value=0,
        max_value=10**12,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    claim = forms.ChoiceField(
        label="Claimed by",
        required=False,
        choices=[
            ("", "Anyone or no one"),
            ("mine", "Me"),
            ("other", "Others"),
            ("nobody", "No one"),
        ],
    )
    sample = forms.ModelChoiceField(
        ReviewSample.objects.all(), label="Sample", required=False, empty_label="None"
    )
    search = forms.UUIDField(
        required=False, widget=forms.HiddenInput, error_messages={"invalid": SEARCH_IS_OVER}
    )
    show = forms.ChoiceField(required=False, choices=Show.choices, widget=forms.HiddenInput)
    after = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)

    def __init__(
        self, *arguments: Any, reviewer: User, without_filter: Show = Show.ALL, **named: Any
    ) -> None:
        """`without_filter` is the list to show if no field is sent."""
        super().__init__(*arguments, **named)
        self.reviewer = reviewer
        self.without_filter = without_filter
        self._is_pseudonym = False

    def clean_person(self) -> User | None:
        """Find a person by login, or by the pseudonym that the review shows instead."""
        name = self.cleaned_data["person"]
        if not name:
            return None
        hidden = find_by_pseudonym(name)
        self._is_pseudonym = hidden is not None
        if not (person := hidden or User.find_by_login(name)):
            raise ValidationError("No one has this name. Enter it as the list shows it.")
        return person

    def clean_until(self) -> date | None:
        until: date | None = self.cleaned_data["until"]
        return min(until, LAST_DAY) if until else None

    def clean_cost(self) -> int | None:
        cost: Decimal | None = self.cleaned_data["cost"]
        return None if cost is None else int(cost * DOLLAR)

    def clean_search(self) -> ReviewSearch | None:
        key = self.cleaned_data["search"]
        if key and not (search := ReviewSearch.find_active(self.reviewer, key)):
            raise ValidationError(SEARCH_IS_OVER)
        return search if key else None

    def clean_after(self) -> ReviewPosition | None:
        try:
            return ReviewPosition.parse(text) if (text := self.cleaned_data["after"]) else None
        except ValueError:
            raise ValidationError("That page doesn't exist. Start with the newest chats.") from None

    def clean(self) -> dict[str, Any]:
        fields = self.cleaned_data
        since, until = fields.get("since"), fields.get("until")
        if since and until and since > until:
            self.add_error("until", "This is before “Last used from”.")
        return fields

    @property
    def criteria(self) -> ReviewFilter:
        """The filter; only if the form is valid."""
        values = {
            name: getattr(value, "pk", value) if name in KEYS else value
            for name, value in self.cleaned_data.items()
            if name not in NON_FILTER_FIELDS and value not in (None, "")
        }
        values["show"] = self.selected_list
        return ReviewFilter(self.reviewer, by_pseudonym=self._is_pseudonym, **values)

    @property
    def selected_list(self) -> Show:
        """The list that is shown. An address with filters only means all chats."""
        if named := self.data.get("show"):
            return Show(named) if named in Show else Show.ALL
        has_fields = any(name in self.data for name in self.fields)
        return Show.ALL if has_fields else self.without_filter

    @property
    def position(self) -> ReviewPosition | None:
        position: ReviewPosition | None = self.cleaned_data["after"]
        return position

    @property
    def sent_fields(self) -> dict[str, str]:
        """The filter's fields that are not empty, as typed."""
        return {
            name: self.data[name]
            for name in self.fields
            if name not in NON_FILTER_FIELDS and self.data.get(name)
        }

    @property
    def is_filtered(self) -> bool:
        return bool(self.sent_fields.keys() - {"show"})

    @property
    def list_query(self) -> dict[str, str]:
        """`sent_fields`, or the name of the list if it has no filter: the query of its address."""
        return self.sent_fields or {"show": self.selected_list}

    @property
    def saved_filters(self) -> dict[str, str]:
        """`sent_fields` as views and samples store them.

        A person is stored by username, however they were typed, so that `forget_name` finds it. A
        text search is left out: it expires soon and had a reason of its own.
        """
        filters = {name: value for name, value in self.sent_fields.items() if name != "search"}
        if person := self._named_person:
            filters["person"] = person.get_username()
        return filters

    @property
    def audit_filters(self) -> dict[str, object]:
        """`sent_fields` as the audit log stores them: a person by primary key, None if there is no
        such person, so that the log names nobody who is erased."""
        person = self._named_person
        filters: dict[str, object] = {**self.sent_fields}
        if "person" in filters and not self._is_pseudonym:
            filters["person"] = person.pk if person else None
        return filters

    @property
    def _named_person(self) -> User | None:
        """The person who was typed by a name, not by a pseudonym."""
        self.is_valid()
        person: User | None = self.cleaned_data.get("person")
        return None if self._is_pseudonym else person

    @property
    def common(self) -> Sequence[BoundField]:
        return [self[name] for name in COMMON]

    @property
    def less_common(self) -> Sequence[BoundField]:
        return [field for field in self.visible_fields() if field.name not in COMMON]

    @property
    def tools(self) -> dict[str, str]:
        return tools_to_choose()

    @property
    def asks_for_less_common(self) -> bool:
        return any(field.errors for field in self.less_common)
