"""The page on which the owner of a prompt shares it."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chatapp.library.sharing_form import sharing_page
from chatapp.models import SavedPrompt, User


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def sharing(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    assert isinstance(request.user, User)
    own = get_object_or_404(SavedPrompt.objects.owned_by(request.user), pk=pk)
    return sharing_page(request, own, "library/sharing.html")
