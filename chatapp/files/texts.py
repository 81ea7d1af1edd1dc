"""The text of an attached file at one address: read as HTML or plain, and replaced."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods

from chatapp.files import serving, uploads
from chatapp.models import User

PLAIN = "text/plain"


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def text(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Respond as the method asks; the editor in the composer gets the text as it is."""
    if request.method == "POST":
        return uploads.replace_text(request, pk)
    if request.headers.get("Accept") == PLAIN:
        return _as_it_is(request, pk)
    return serving.text(request, pk)


def _as_it_is(request: HttpRequest, pk: UUID) -> HttpResponse:
    assert isinstance(request.user, User)
    editable = request.user.attachments.editable().select_related("file__content")
    content = get_object_or_404(editable, pk=pk).content
    assert content
    return HttpResponse(
        content.text, content_type=f"{PLAIN}; charset=utf-8", headers=serving.HEADERS
    )
