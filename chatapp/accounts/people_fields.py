"""A form field for people whom a person shares something with."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from chatapp.models import User
from chatapp.models.accounts.audiences import find_colleagues, person_to_share_with
from chatapp.models.accounts.users import MAX_LOGIN_LENGTH

MAX_PEOPLE = 50  # named at once
MAX_SUGGESTIONS = 200
NOBODY = "Nobody here signs in as “{login}”. Enter a username or an email address exactly."
ONESELF = "This is your own account. Name other people."
TOO_MANY = f"Name at most {MAX_PEOPLE} people, or share with a group."


class PeopleField(forms.CharField):
    """People by exact username or email address, separated by commas or spaces.

    Its value is a list of active people without duplicates. Names of colleagues can be suggested
    with `suggested_people`; all others must be known to the person who enters them.
    """

    def __init__(self, *, by: User, **options: Any) -> None:
        self._by = by
        attrs = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        attrs |= {"list": "colleagues", "data-several": ""}
        max_length = MAX_PEOPLE * (MAX_LOGIN_LENGTH + 1)
        super().__init__(max_length=max_length, widget=forms.TextInput(attrs), **options)

    def clean(self, value: Any) -> list[User]:
        logins = list(dict.fromkeys(super().clean(value).replace(",", " ").split()))
        if len(logins) > MAX_PEOPLE:
            raise ValidationError(TOO_MANY)
        return list({person.pk: person for person in self._people(logins)}.values())

    def _people(self, logins: Iterable[str]) -> Iterable[User]:
        for login in logins:
            person = person_to_share_with(login)
            if person is None:
                raise ValidationError(NOBODY.format(login=login[:MAX_LOGIN_LENGTH]))
            if person == self._by:
                raise ValidationError(ONESELF)
            yield person


def suggested_people(user: User) -> list[User]:
    """Return the person's colleagues, with their names only, for a `<datalist>`."""
    return list(find_colleagues(user).only("username", "first_name", "last_name")[:MAX_SUGGESTIONS])
