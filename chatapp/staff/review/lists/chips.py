"""The filters that a list has, each with the address of the list without it."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.forms import BoundField, ModelChoiceField
from django.utils.http import urlencode

from chatapp.staff.review.finding.filters import FilterForm, tool_in_words
from chatapp.tools import shared_registry

HIDDEN = {"show", "search"}


@dataclass(frozen=True)
class Chip:
    label: str
    value: str
    other_query: str  # the query without it


def build_chips(form: FilterForm) -> Iterator[Chip]:
    filters = {**form.sent_fields, "show": form.selected_list}
    for name in form.sent_fields:
        if name not in HIDDEN:
            other_filters = {other: value for other, value in filters.items() if other != name}
            yield Chip(str(form[name].label), _words(form, form[name]), urlencode(other_filters))


def _words(form: FilterForm, bound: BoundField) -> str:
    """Return the value as the form shows it, or as it was typed if it is not valid."""
    field, typed = bound.field, str(bound.data)
    if bound.name == "tool":
        return tool_in_words(typed, shared_registry().get_title(typed))
    if isinstance(field, ModelChoiceField):
        return str(form.cleaned_data.get(bound.name) or typed)
    choices = {str(value): str(words) for value, words in getattr(field, "choices", ())}
    return choices.get(typed, typed)
