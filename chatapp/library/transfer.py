"""Export of a person's prompts as JSON, and import of such a file or of Open WebUI's export."""

from collections.abc import Sequence

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.library.formats import FORMAT, MAX_BYTES, Unreadable, prompts_in
from chatapp.library.saving import add
from chatapp.models import Refused, SavedPrompt, User

NAMED = 5  # problems that are told one by one


class ImportForm(forms.Form):
    file = forms.FileField(
        label="File",
        widget=forms.FileInput({"accept": ".json,application/json"}),
        help_text=f"JSON, up to {filesizeformat(MAX_BYTES)}: an export of this app, or of Open "
        "WebUI's prompts.",
        error_messages=dict.fromkeys(("required", "missing"), "Choose a file first."),
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
def export(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    own = [one.content for one in SavedPrompt.objects.owned_by(request.user)]
    name = f"prompts-{timezone.now():%Y-%m-%d}.json"
    return JsonResponse(
        {"format": FORMAT, "version": 1, "prompts": own},
        json_dumps_params={"ensure_ascii": False, "indent": 2},
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def take(request: HttpRequest) -> HttpResponse:
    """Import prompts from a file. What is there already is left out, and so is what is too long."""
    assert isinstance(request.user, User)
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        form = ImportForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            messages.success(request, _imported(request.user, form.cleaned_data["file"]))
        except (Unreadable, Refused) as error:
            form.add_error("file", f"{error} Nothing was imported.")
        else:
            return redirect("prompts")
    return render(request, "library/import.html", {"form": form})


@transaction.atomic
def _imported(user: User, data: bytes) -> str:
    """Import the file and return what was done as sentences."""
    found, problems = prompts_in(data)
    own = {(one.title, one.text) for one in SavedPrompt.objects.owned_by(user)}
    unknown = [one for one in found if (one["title"], one["text"]) not in own]
    add(user, unknown)
    return " ".join(_told(len(unknown), len(found) - len(unknown), problems))


def _told(imported: int, known: int, problems: Sequence[str]) -> Sequence[str]:
    told = [f"{_counted(imported)} imported."]
    if known:
        told.append(f"{_counted(known)} there already.")
    if problems:
        told.append(f"{_counted(len(problems))} left out: {'; '.join(problems[:NAMED])}")
        told[-1] += "; and others." if len(problems) > NAMED else "."
    return told


def _counted(count: int) -> str:
    return "1 prompt was" if count == 1 else f"{count:,} prompts were"
