"""The form with which a person shares a chat."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.models import Group

from chatapp.accounts.people_fields import PeopleField
from chatapp.models import Conversation, Installation, User
from chatapp.models.accounts.audiences import EVERYONE
from chatapp.models.library.sharing import groups_to_share_with
from chatapp.models.refusals import Refused
from chatapp.models.sharing.shared_chats import PUBLIC, Audience, Share, ShareOptions

NAMED, ALL, WORLD = "named", "everyone", "public"
DAYS = {1: "After a day", 7: "After 7 days", 30: "After 30 days"}
NEVER = 0
MISSING = "Name at least one person or choose a group."
SEVERAL = (
    "This chat ends with several answers side by side. Choose “Share up to here” in the menu of "
    "one of them, or share the chat as it goes on, which shows all of them."
)
PARTS = {
    "shows_reasoning": "Reasoning",
    "shows_tools": "Tool calls and their results",
    "shows_files": "Files and images",
    "shows_author": "Your name",
}


class ShareForm(forms.Form):
    """With whom to share a chat, how much of it, and until when."""

    who = forms.ChoiceField(label="Share with", widget=forms.RadioSelect, initial=NAMED)
    groups = forms.ModelMultipleChoiceField(
        Group.objects.none(), required=False, widget=forms.CheckboxSelectMultiple
    )
    live = forms.TypedChoiceField(
        label="They see",
        choices=[("", "The chat up to this point"), ("on", "The chat as it goes on")],
        coerce=bool,
        required=False,
        widget=forms.RadioSelect,
        initial="",
    )
    shows_reasoning, shows_tools, shows_files, shows_author = (
        forms.BooleanField(label=label, required=False) for label in PARTS.values()
    )
    days = forms.TypedChoiceField(label="The link stops working", coerce=int, initial=7)

    def __init__(self, data: Any, by: User) -> None:
        super().__init__(data)
        installation = Installation.load()
        self.fields["people"] = PeopleField(by=by, required=False, label="People")
        self._offer("who", self._audiences(installation))
        self._offer("days", _days(installation.share_days))
        groups = self.fields["groups"]
        assert isinstance(groups, forms.ModelMultipleChoiceField)
        groups.queryset = groups_to_share_with(by)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        is_named = cleaned.get("who") == NAMED and "people" in cleaned and "groups" in cleaned
        if is_named and not cleaned["people"] and not cleaned["groups"]:
            self.add_error("people", MISSING)
        return cleaned

    def share(self, conversation: Conversation, last: UUID | None) -> Share:
        """Return the request; a snapshot ends with `last`, or with the end of the chat.

        Raises `Refused`.
        """
        cleaned = self.cleaned_data
        who, options = cleaned["who"], {name: cleaned[name] for name in PARTS}
        audience = Audience(
            people=cleaned["people"] if who == NAMED else (),
            groups=list(cleaned["groups"]) if who == NAMED else (),
            is_everyone=who == ALL,
            is_public=who == WORLD,
        )
        message = None if cleaned["live"] else last or _find_end(conversation)
        days = cleaned["days"] or None
        return Share(conversation.pk, audience, message, ShareOptions(**options), days)

    def _audiences(self, installation: Installation) -> list[tuple[str, str]]:
        public = [(WORLD, PUBLIC)] if installation.allows_public_links else []
        return [(ALL, EVERYONE), *public, (NAMED, "People and groups")]

    def _offer(self, name: str, choices: list[Any]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


def _find_end(conversation: Conversation) -> UUID | None:
    page = conversation.load_thread_page()
    if page.together:
        raise Refused(SEVERAL)
    return page.leaf


def _days(max_days: int | None) -> list[tuple[int, str]]:
    """Return the choices, up to the administrator's maximum if there is one."""
    if max_days is None:
        return [*DAYS.items(), (NEVER, "Never")]
    some = {days: words for days, words in DAYS.items() if days < max_days}
    return [*some.items(), (max_days, "After a day" if max_days == 1 else f"After {max_days} days")]
