"""Export of items as JSON, and import of such a file."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.library.formats import Unreadable, build_export
from chatapp.library.kinds import Kind
from chatapp.models import Refused, User
from chatapp.models.conversations.messages.storage import charge_hourly_quota
from chatapp.models.library.sharing import Level
from chatapp.realtime.worker import worker


class ImportForm(forms.Form):
    file = forms.FileField(
        label="File",
        widget=forms.FileInput({"accept": ".json,application/json"}),
        error_messages=dict.fromkeys(("required", "missing", "empty"), "Choose a file first."),
    )

    def __init__(self, kind: Kind[Any], data: Any = None, files: Any = None) -> None:
        super().__init__(data, files)
        self._max_bytes = kind.max_file_bytes
        self.fields["file"].help_text = kind.file_help.format(filesizeformat(self._max_bytes))

    def clean_file(self) -> bytes:
        file = self.cleaned_data["file"]
        assert isinstance(file, UploadedFile)
        size = file.size or 0
        if size > self._max_bytes:
            raise forms.ValidationError(
                f"This file has {filesizeformat(size)}. The limit is "
                f"{filesizeformat(self._max_bytes)}. Nothing was imported."
            )
        return bytes(file.read())


@require_GET
@never_cache
@login_required
def export_all(request: HttpRequest, kind: Kind[Any]) -> HttpResponse:
    """Export a person's own items."""
    assert isinstance(request.user, User)
    own = kind.model.objects.owned_by(request.user).select_related(*kind.related)
    return _file(request.user, kind, own, kind.plural)


@require_GET
@never_cache
@login_required
def export(request: HttpRequest, kind: Kind[Any], pk: UUID) -> HttpResponse:
    """Export one item that the person may read."""
    assert isinstance(request.user, User)
    return _file(request.user, kind, [kind.find(request.user, pk, Level.READ)], kind.name)


def _file(user: User, kind: Kind[Any], items: Iterable[Any], name: str) -> HttpResponse:
    dated = f"{name}-{timezone.now():%Y-%m-%d}.json"
    return JsonResponse(
        build_export(kind.plural, kind.export_items(user, items)),
        json_dumps_params={"ensure_ascii": False, "indent": 2},
        headers={"Content-Disposition": f'attachment; filename="{dated}"'},
    )


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def import_file(request: HttpRequest, kind: Kind[Any]) -> HttpResponse:
    """Import items from a file. What can't be saved is left out, and said."""
    assert isinstance(request.user, User)
    is_posted = request.method == "POST"
    form = ImportForm(kind, request.POST, request.FILES) if is_posted else ImportForm(kind)
    if form.is_valid():
        try:
            data = form.cleaned_data["file"]
            # Reading a file takes time, even if nothing in it can be stored.
            charge_hourly_quota(len(data), worker().stored_bytes[request.user.pk])
            sentences = kind.import_items(request.user, data)
        except (Unreadable, Refused) as error:
            form.add_error("file", f"{error} Nothing was imported.")
        else:
            messages.success(request, " ".join(sentences))
            return redirect(kind.plural)
    return kind.render(request, "import", {"form": form})
