"""The URL configuration."""

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path


def nothing(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404("Page not found.")


urlpatterns = [
    path("", include("chatapp.chat.urls")),
    path("", include("chatapp.search.urls")),
    path("", include("chatapp.accounts.urls")),
    path("audit/", include("chatapp.audit.urls")),
    path("", include("chatapp.people.urls")),
    path("", include("chatapp.limits.urls")),
    path("", include("chatapp.usage.urls")),
    path("", include("chatapp.connecting.urls")),
    path("", include("chatapp.policy.urls")),
    path("", include("chatapp.configuring.urls")),
    path("", include("chatapp.retention.urls")),
    path("review/", include("chatapp.review.urls")),
    path("", include("chatapp.privacy.urls")),
    path("", include("chatapp.branding.urls")),
    path("admin/r/<path:rest>", nothing),  # the admin's "view on site" needs `django.contrib.sites`
    path("admin/", admin.site.urls),
    path("probe/", include("chatapp.doctor.probe")),
    path("", include("chatapp.probes.urls")),
]
