"""People's pictures: their form on the page of one's own name, and the pictures themselves."""

import tempfile
from pathlib import Path
from threading import Lock
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from chatapp import documents
from chatapp.documents import Document, Limits, Picture, Scan, Unreadable
from chatapp.models import Avatar, User, audit
from chatapp.models.refusals import Refused

MAX_BYTES = 1024 * 1024
LIMITS = Limits(pages=1, characters=1_000, image_side=512, seconds=5.0)
WAIT_SECONDS = 10.0  # for the pictures of other people
TOO_LARGE = "This file is too large. The limit is 1 MiB."
BUSY = "The server is busy. Try again in a moment."
REMOVED = "Your picture was removed."
NO_IMAGE = "This file is not an image. Choose a PNG, JPEG, WebP or GIF image."
# The address has a hash of the picture, which nobody knows who was not shown it.
HEADERS = {"Cache-Control": "private, max-age=31536000, immutable", "Content-Disposition": "inline"}

_one_at_a_time = Lock()


class AvatarForm(forms.Form):
    """A picture; static/js/account/avatar.js makes it small before it is sent."""

    picture = forms.FileField(
        widget=forms.FileInput({"accept": "image/*", "data-avatar": ""}),
        help_text="It is shown in a small circle to people with whom you share projects.",
    )

    def clean_picture(self) -> Picture:
        """Return the picture, encoded again without metadata."""
        upload: Any = self.cleaned_data["picture"]
        if (upload.size or 0) > MAX_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        if not _one_at_a_time.acquire(timeout=WAIT_SECONDS):
            raise forms.ValidationError(BUSY)
        try:
            content = _read_upload(upload.read())
        except Unreadable as unreadable:
            raise forms.ValidationError(str(unreadable)) from unreadable
        finally:
            _one_at_a_time.release()
        if not isinstance(content, Picture):
            raise forms.ValidationError(NO_IMAGE)
        return content


def _read_upload(data: bytes) -> Document | Picture | Scan:
    with tempfile.TemporaryFile(dir=settings.DATA_DIR) as file:
        file.write(data)
        file.flush()
        file.seek(0)
        return documents.read(Path(f"/dev/fd/{file.fileno()}"), LIMITS)


@require_POST
@login_required
def change(request: HttpRequest) -> HttpResponse:
    """Store or remove one's own picture."""
    assert isinstance(request.user, User)
    picture = None
    if "remove" not in request.POST:
        form = AvatarForm(request.POST, request.FILES)
        if not form.is_valid():
            messages.error(request, str(form.errors["picture"][0]))
            return redirect("profile")
        picture = form.cleaned_data["picture"]
    try:
        _store(request.user, picture)
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, "Your picture was saved." if picture else REMOVED)
    return redirect("profile")


@transaction.atomic
def _store(user: User, picture: Picture | None) -> None:
    if picture:
        Avatar.replace(user, picture.media_type, picture.data)
    else:
        Avatar.remove(user)
    audit.record("person.changed", actor=user, about=user)


@require_safe
@login_required
def avatar(_request: HttpRequest, version: str) -> HttpResponse:
    """A picture, by its hash."""
    picture = get_object_or_404(Avatar.objects.filter(version=version)[:1])
    return HttpResponse(bytes(picture.data), content_type=picture.media_type, headers=HEADERS)
