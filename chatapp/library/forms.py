"""Forms that prompts and presets have in common."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from django import forms

MAX_QUERY_LENGTH = 100


class SearchForm(forms.Form):
    q = forms.CharField(required=False, max_length=MAX_QUERY_LENGTH)


class ItemForm(forms.Form):
    """The form of an item. `opened` is the version that the form was filled with."""

    opened = forms.IntegerField(
        widget=forms.HiddenInput, initial=1, required=False, min_value=1, max_value=2**31 - 1
    )

    @property
    @abstractmethod
    def content(self) -> dict[str, Any]:
        """The content of the item, once valid."""

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks for the person about the content, once it is saved."""
        return ()

    def store(self) -> dict[str, Any]:
        """Return the content, after storing what it refers to. Raises `Refused`.

        Call it in the transaction that saves the item.
        """
        return self.content
