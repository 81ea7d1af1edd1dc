"""Forms for what the chat's pages post. Each error says what to do."""

from collections.abc import Mapping
from uuid import UUID

from django import forms

from chatapp.chat.form_fields import OUT_OF_DATE, ModelField
from chatapp.models import Feedback, ModelChoice, Preset, Project, Upstream, User
from chatapp.models.conversations.chats.conversation import ConversationQuerySet
from chatapp.models.conversations.chats.feedback import MAX_NOTE_LENGTH
from chatapp.models.conversations.chats.projects import MAX_INSTRUCTIONS_LENGTH, MAX_NAME_LENGTH
from chatapp.models.conversations.chats.titled import MAX_TITLE_LENGTH
from chatapp.models.platform.upstreams import NOT_OFFERED
from chatapp.text.multiline import MultilineField
from chatapp.text.one_line import OneLineField

MAX_CHOSEN = 500  # conversations in one request
CHANGES = (
    "pin", "unpin", "archive", "unarchive", "trash", "restore", "discard", "empty", "move",
)  # fmt: skip


class RenameForm(forms.Form):
    """A conversation's new title."""

    title = OneLineField(MAX_TITLE_LENGTH, "A title")

    @property
    def new_title(self) -> str:
        title: str = self.cleaned_data["title"]
        return title


class IdsField(forms.Field):
    """The ids of conversations, as repeated parameters."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: list[str] | None) -> list[UUID]:
        if value and len(value) > MAX_CHOSEN:
            raise forms.ValidationError(
                f"You selected {len(value):,} chats. Select {MAX_CHOSEN} at most."
            )
        try:
            return [UUID(pk) for pk in value or ()]
        except ValueError:
            raise forms.ValidationError(OUT_OF_DATE) from None


class SelectionForm(forms.Form):
    """Conversations that a person selected; other people's are ignored."""

    ids = IdsField(error_messages={"required": "Select a chat first."})

    def __init__(self, data: Mapping[str, object], user: User) -> None:
        super().__init__(data)
        self.user = user

    @property
    def selected_chats(self) -> ConversationQuerySet:
        own: ConversationQuerySet = self.user.conversations.filter(pk__in=self.cleaned_data["ids"])
        return own


class ChangeForm(SelectionForm):
    """A change to the selected conversations."""

    ids = IdsField(required=False)
    action = forms.ChoiceField(choices=[(change, change) for change in CHANGES])
    project = forms.UUIDField(required=False)

    def clean_project(self) -> Project | None:
        """Return the project to move to; None moves out of any project."""
        pk = self.cleaned_data["project"]
        if pk is None:
            return None
        project = Project.objects.open_to(self.user).filter(pk=pk).first()
        if project is None:
            raise forms.ValidationError("This project no longer exists.")
        if not project.is_writable_by(self.user):
            raise forms.ValidationError("You can read this project, but not add chats to it.")
        return project


class ProjectForm(forms.Form):
    """A project's name and instructions, and the model and the preset of its new chats."""

    name = OneLineField(MAX_NAME_LENGTH, "A name")
    instructions = MultilineField(required=False, max_length=MAX_INSTRUCTIONS_LENGTH)
    model = ModelField(required=False)
    preset = forms.UUIDField(required=False)

    def __init__(self, data: Mapping[str, object], project: Project) -> None:
        super().__init__(data)
        self.project = project

    def fill(self) -> None:
        """Copy the cleaned values to the project without saving it."""
        project, clean = self.project, self.cleaned_data
        model: ModelChoice | None = clean["model"]
        project.name, project.instructions = clean["name"], clean["instructions"]
        project.upstream_id = model.upstream if model else None
        project.model = model.name if model else ""
        project.preset = clean["preset"]

    def clean_preset(self) -> Preset | None:
        """Accept a preset that the person may use, or the current one."""
        pk = self.cleaned_data["preset"]
        if pk is None or pk == self.project.preset_id:
            return self.project.preset if pk else None
        preset: Preset | None = Preset.objects.open_to(self.project.user).filter(pk=pk).first()
        if preset is None:
            raise forms.ValidationError("This preset no longer exists. Choose another one.")
        return preset

    def clean_model(self) -> ModelChoice | None:
        """Accept a model of an enabled upstream, or the current one even if that is disabled."""
        model: ModelChoice | None = self.cleaned_data["model"]
        if model == self.project.preselected_model:
            return model
        if model and not Upstream.objects.filter(pk=model.upstream, enabled=True).exists():
            raise forms.ValidationError(NOT_OFFERED)
        return model


class FeedbackForm(forms.Form):
    """A person's rating of a reply, and a note."""

    NONE = "none"  # withdraws the rating

    rating = forms.ChoiceField(
        choices=[*Feedback.Rating.choices, (NONE, NONE)],
        error_messages=dict.fromkeys(["required", "invalid_choice"], OUT_OF_DATE),
    )
    note = MultilineField(
        required=False,
        max_length=MAX_NOTE_LENGTH,
        error_messages={"max_length": f"A note has at most {MAX_NOTE_LENGTH:,} characters."},
    )

    @property
    def rating_and_note(self) -> tuple[Feedback.Rating | None, str | None]:
        """The rating, None to withdraw it; and the note, None to leave it unchanged."""
        rating = self.cleaned_data["rating"]
        note = self.cleaned_data["note"] if "note" in self.data else None
        return None if rating == self.NONE else Feedback.Rating(rating), note
