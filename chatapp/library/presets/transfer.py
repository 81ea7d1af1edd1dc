"""Export of presets as JSON, and import of such a file."""

from collections.abc import Sequence
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.library.presets import queries, saving
from chatapp.library.presets.formats import MAX_BYTES, Unreadable, exported, presets_in
from chatapp.models import Preset, Refused, User
from chatapp.models.library.sharing import Level

NAMED = 5  # problems that are told one by one


class ImportForm(forms.Form):
    file = forms.FileField(
        label="File",
        widget=forms.FileInput({"accept": ".json,application/json"}),
        help_text=f"A JSON file of up to {filesizeformat(MAX_BYTES)} that was exported here.",
        error_messages=dict.fromkeys(("required", "missing", "empty"), "Choose a file first."),
    )

    def clean_file(self) -> bytes:
        file = self.cleaned_data["file"]
        assert isinstance(file, UploadedFile)
        size = file.size or 0
        if size > MAX_BYTES:
            raise forms.ValidationError(
                f"This file has {filesizeformat(size)}. The limit is "
                f"{filesizeformat(MAX_BYTES)}. Nothing was imported."
            )
        return bytes(file.read())


@require_GET
@never_cache
@login_required
def export_all(request: HttpRequest) -> HttpResponse:
    """A person's own presets."""
    assert isinstance(request.user, User)
    own = Preset.objects.owned_by(request.user).select_related("upstream")
    return _file(request.user, list(own), "presets")


@require_GET
@never_cache
@login_required
def export(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One preset that the person may read."""
    assert isinstance(request.user, User)
    return _file(request.user, [queries.found(request.user, pk, Level.READ)], "preset")


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def take(request: HttpRequest) -> HttpResponse:
    """Import presets from a file. What can't be saved is left out, and said."""
    assert isinstance(request.user, User)
    form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
    if form.is_valid():
        try:
            told = _imported(request.user, form.cleaned_data["file"])
        except (Unreadable, Refused) as error:
            form.add_error("file", f"{error} Nothing was imported.")
        else:
            messages.success(request, told)
            return redirect("presets")
    return render(request, "presets/import.html", {"form": form})


def _file(user: User, presets: Sequence[Preset], name: str) -> HttpResponse:
    dated = f"{name}-{timezone.now():%Y-%m-%d}.json"
    return JsonResponse(
        exported(presets, queries.tools_of(user)),
        json_dumps_params={"ensure_ascii": False, "indent": 2},
        headers={"Content-Disposition": f'attachment; filename="{dated}"'},
    )


def _imported(user: User, data: bytes) -> str:
    """Import the file and return what was done as sentences."""
    found = presets_in(data, user, queries.offers_to(user), queries.tools_of(user))
    made = saving.add(user, found.contents)
    told = ["1 preset was imported." if len(made) == 1 else f"{len(made)} presets were imported."]
    told += found.problems[:NAMED]
    if more := len(found.problems) - NAMED:
        told += [f"{more} more could not be taken as they are."] if more > 0 else []
    return " ".join(told)
