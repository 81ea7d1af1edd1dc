"""The text of an attached file at one address: shown, or plain for the editor, and replaced."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chatapp.files import uploads, viewing
from chatapp.files.serving import HEADERS
from chatapp.models import User

PLAIN = "text/plain"


@require_http_methods(["GET", "HEAD", "POST"])
def text(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Respond as the method and the accepted type ask."""
    if request.method == "POST":
        return uploads.replace_text(request, pk)
    if request.headers.get("Accept") == PLAIN:
        return _plain(request, pk)
    return viewing.text(request, pk)


@never_cache
@login_required
def _plain(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The text of a drafted file, to be edited."""
    assert isinstance(request.user, User)
    editable = request.user.attachments.editable().select_related("file__content")
    content = get_object_or_404(editable, pk=pk).content
    assert content
    return HttpResponse(content.text, content_type=f"{PLAIN}; charset=utf-8", headers=HEADERS)
