"""The form that starts an export."""

from typing import Any

from django import forms

from chatapp.chat.page_forms import IdsField
from chatapp.models import ChatExport, User
from chatapp.models.conversations.turns.exports import ExportFormat, ExportScope

NOTHING = "Select a chat first."
GONE = "This project no longer exists."


class ExportForm(forms.Form):
    """The content of an export (chats, a project, or everything) and its format (default JSON)."""

    ids = IdsField(required=False)
    project = forms.UUIDField(required=False)
    everything = forms.BooleanField(required=False)
    format = forms.ChoiceField(choices=ExportFormat.choices, required=False)
    shown_only = forms.BooleanField(required=False)
    with_files = forms.BooleanField(required=False)

    def __init__(self, data: Any, user: User) -> None:
        super().__init__(data)
        self.user = user

    def clean(self) -> dict[str, Any]:
        fields: dict[str, Any] = self.cleaned_data
        if self.errors:
            return fields
        if (project := fields["project"]) and not self.user.projects.filter(pk=project).exists():
            raise forms.ValidationError(GONE)
        if not (fields["ids"] or project or fields["everything"]):
            raise forms.ValidationError(NOTHING)
        return fields

    @property
    def export(self) -> ChatExport:
        """The export as an object that is not saved."""
        fields = self.cleaned_data
        scope = ExportScope.EVERYTHING if fields["everything"] else ExportScope.CHATS
        return ChatExport(
            user=self.user,
            format=fields["format"] or ExportFormat.JSON,
            scope=ExportScope.PROJECT if fields["project"] else scope,
            chats=[str(pk) for pk in fields["ids"] or ()],
            project=fields["project"],
            is_shown_only=fields["shown_only"] and len(fields["ids"] or ()) == 1,
            with_files=fields["with_files"],
        )
