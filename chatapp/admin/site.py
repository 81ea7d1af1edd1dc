"""The administration's own pages, where they are not Django's."""

from typing import Any

from allauth.account.admin import EmailAddress  # registers it
from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.urls import reverse
from django.views.generic import RedirectView

admin.site.site_header = admin.site.site_title = "chatapp administration"
admin.site.index_title = "Administration"
ORDER = ("User", "Group", "Conversation", "Upstream", "ToolServer", "Suggestion")


def in_one_list(request: HttpRequest, app_label: str | None = None) -> list[Any]:
    """What there is, in the order of its use: by which of Django's apps it is kept tells nobody
    anything."""
    apps = AdminSite.get_app_list(admin.site, request, app_label)
    models = [model for app in apps for model in app["models"]]
    models.sort(key=lambda model: ORDER.index(model["object_name"]))
    url = reverse("admin:index")
    app = {"name": "Administration", "app_label": "chatapp", "app_url": url, "models": models}
    return [app] if models else []


admin.site.get_app_list = in_one_list  # type: ignore[method-assign]
# The one sign-in and the one change of one's password, with their limits.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.password_change = RedirectView.as_view(  # type: ignore[method-assign,assignment]
    pattern_name="account_change_password"
)
# Of allauth: an address there would sign in as well, and nothing here makes one.
admin.site.unregister(EmailAddress)
