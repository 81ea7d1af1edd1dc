"""The accent as a style sheet, and the logo: of whoever asks, since the sign-in shows them.

Pages name them with their version. Under that a browser keeps them for good; whoever asks for
another version, as a page does that was drawn before a change, gets what is there now, once.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from chatapp.models import Installation, Logo

FOR_GOOD = "public, max-age=31536000, immutable"


@require_GET
def accent(request: HttpRequest) -> HttpResponse:
    branding = Installation.of_new_chats().branding
    if not branding.accent:
        raise Http404("The accent is the app's own.")
    rule = f":root{{--accent:light-dark({branding.accent},{branding.accent_dark})}}"
    return _versioned(request, rule.encode(), "text/css; charset=utf-8", branding.accent_version)


@require_GET
def logo(request: HttpRequest) -> HttpResponse:
    found = get_object_or_404(Logo)
    return _versioned(request, bytes(found.data), found.media_type, found.version)


def _versioned(
    request: HttpRequest, content: bytes, content_type: str, version: str
) -> HttpResponse:
    is_asked_for = request.GET.get("v") == version
    headers = {
        "Cache-Control": FOR_GOOD if is_asked_for else "no-store",
        "Content-Disposition": "inline",
        "X-Content-Type-Options": "nosniff",
    }
    return HttpResponse(content, content_type=content_type, headers=headers)
