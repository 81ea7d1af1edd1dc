"""The URL configuration."""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path


def raise_not_found(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404("Page not found.")


urlpatterns = [
    path("", include("chatapp.chat.urls")),
    path("api/v1", raise_not_found),
    path("api/v1/", include("chatapp.api.urls")),
    path("", include("chatapp.sharing.urls")),
    path("", include("chatapp.search.urls")),
    path("", include("chatapp.exports.urls")),
    path("prompts/", include("chatapp.library.prompts.urls")),
    path("files/", include("chatapp.files.urls")),
    path("imports/", include("chatapp.imports.urls")),
    path("presets/", include("chatapp.library.presets.urls")),
    path("", include("chatapp.accounts.urls")),
    path("audit/", include("chatapp.staff.audit.urls")),
    path("pick/", include("chatapp.staff.pickers.urls")),
    path("", include("chatapp.staff.people.urls")),
    path("", include("chatapp.staff.limits.urls")),
    path("", include("chatapp.staff.usage.urls")),
    path("", include("chatapp.staff.upstream_setup.urls")),
    path("", include("chatapp.staff.tool_servers.urls")),
    path("", include("chatapp.staff.policy.urls")),
    path("", include("chatapp.staff.site_settings.urls")),
    path("", include("chatapp.staff.retention.urls")),
    path("", include("chatapp.staff.shared_items.urls")),
    path("review/", include("chatapp.staff.review.urls")),
    path("", include("chatapp.staff.privacy.urls")),
    path("", include("chatapp.staff.branding.urls")),
    path("probe/", include("chatapp.doctor.probe")),
    path("", include("chatapp.server.probes.urls")),
]
