"""The files in a preset's form: those that the preset keeps, and those that were uploaded since."""

from functools import cached_property
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.conf import settings

from chatapp.models import FileSet, Preset, PresetFile, Refused, User
from chatapp.models.files.attachments import AttachmentQuerySet
from chatapp.models.library.file_sets import check_room

GONE = "A file of this preset is no longer there. Look at its files, then save again."
TOO_MANY = "A preset can have {} files at most, and this one would have {}. Remove some."


class FilesForm(forms.Form):
    """`kept` has the ids of files of any version, since another one may be the newest by now."""

    kept = forms.ModelMultipleChoiceField(
        PresetFile.objects.none(),
        required=False,
        error_messages=dict.fromkeys(("invalid_choice", "invalid_pk_value"), GONE),
    )
    draft = forms.UUIDField(required=False)

    def __init__(self, data: Any, user: User, preset: Preset | None) -> None:
        super().__init__(data)
        self._user, self._preset = user, preset
        if preset:
            field = self.fields["kept"]
            assert isinstance(field, forms.ModelMultipleChoiceField)
            field.queryset = PresetFile.objects.of_preset(preset.pk).for_display()

    @property
    def preset_files(self) -> list[PresetFile]:
        """The files of the preset that the form shows."""
        if self.is_bound and self.is_valid():
            return list(self.cleaned_data["kept"])
        return self._preset.files if self._preset else []

    @cached_property
    def key(self) -> UUID:
        """The key of the form's draft."""
        draft_key: UUID | None = self.cleaned_data.get("draft") if self.is_valid() else None
        return draft_key or uuid4()

    @property
    def draft_files(self) -> AttachmentQuerySet:
        """The files that were uploaded since."""
        return self._user.attachments.in_form(self.key).for_chips()

    def store(self) -> int | None:
        """Return the key of a set with the files of the form, the preset's own if it is the same.

        Call it in the transaction that saves the version. Raises `Refused`.
        """
        drafts = list(self.draft_files.select_for_update(of=("self",)))
        for file in drafts:
            file.check_ready()
        files = [*self.preset_files, *map(PresetFile.from_draft, drafts)]
        if len(files) > (max_files := settings.CHATAPP_FILES_PER_MESSAGE):
            raise Refused(TOO_MANY.format(max_files, len(files)))
        before = self._preset.files if self._preset else []
        if [_get_identity(file) for file in files] == [_get_identity(file) for file in before]:
            file_set = self._preset.file_set if self._preset else None
        else:
            file_set = FileSet.store(files)
        if self._preset and self._preset.owner_id != self._user.pk:
            new = sum(draft.file.size for draft in drafts if draft.file)
            check_room(self._preset.owner, new, by=self._user)
        self._user.attachments.filter(pk__in=[draft.pk for draft in drafts]).delete()
        return file_set.pk if file_set else None


def _get_identity(file: PresetFile) -> tuple[str, int]:
    return file.name, file.file_id
