"""The accent colour as a style sheet, and the logo. Both are public: the sign-in page uses them.

Pages link to them with their version, and browsers cache each version permanently. A request for
another version, such as from a page rendered before a change, gets the current file, uncached.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from chatapp.models import Installation, Logo

IMMUTABLE = "public, max-age=31536000, immutable"


@require_GET
def accent(request: HttpRequest) -> HttpResponse:
    branding = Installation.load().branding
    if not branding.accent:
        raise Http404("No accent colour is set.")
    rule = f":root{{--accent:light-dark({branding.accent},{branding.accent_dark})}}"
    return _build_response(
        request, rule.encode(), "text/css; charset=utf-8", branding.accent_version
    )


@require_GET
def logo(request: HttpRequest) -> HttpResponse:
    stored_logo = get_object_or_404(Logo)
    return _build_response(
        request, bytes(stored_logo.data), stored_logo.media_type, stored_logo.version
    )


def _build_response(
    request: HttpRequest, content: bytes, content_type: str, version: str
) -> HttpResponse:
    is_current = request.GET.get("v") == version
    headers = {
        "Cache-Control": IMMUTABLE if is_current else "no-store",
        "Content-Disposition": "inline",
        "X-Content-Type-Options": "nosniff",
    }
    return HttpResponse(content, content_type=content_type, headers=headers)
