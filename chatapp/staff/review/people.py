"""Completes the names of people in the filter, as far as reviewers see names."""

from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import reviewers_only
from chatapp.models import User
from chatapp.models.review.readable import reviewable, tells_names

MAX_NAMES = 8


@require_GET
@reviewers_only
def people(request: HttpRequest) -> JsonResponse:
    """Return the people whose name contains `q` and who have a chat that shows it to reviewers."""
    assert isinstance(request.user, User)
    visible_chats = reviewable().filter(tells_names() | Q(user=request.user), user=OuterRef("pk"))
    typed = request.GET.get("q", "").strip().replace("\0", "")
    matches = User.objects.filter(Exists(visible_chats.order_by()), username__icontains=typed)
    names = matches.order_by("username").values_list("username", flat=True)
    return JsonResponse({"people": list(names[:MAX_NAMES]) if typed else []})
