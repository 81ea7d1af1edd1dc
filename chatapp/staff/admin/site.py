"""Changes to the admin site itself: its list of models, its sign-in, and what it unregisters."""

from functools import wraps
from typing import Any

from allauth.account.admin import EmailAddress  # registers it
from allauth.account.decorators import secure_admin_login
from allauth.mfa.admin import Authenticator  # registers it
from allauth.socialaccount.admin import SocialAccount, SocialApp, SocialToken  # as does this
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView

from chatapp.accounts.staff import redirect_to_second_factor

admin.site.site_header = admin.site.site_title = "chatapp administration"
admin.site.index_title = "Administration"
ORDER = ("User", "Group", "Upstream", "ToolServer", "Suggestion")


def list_all_models(request: HttpRequest, app_label: str | None = None) -> list[Any]:
    """Return all models in one list, in order of use, instead of grouped by Django app."""
    apps = AdminSite.get_app_list(admin.site, request, app_label)
    models = [model for app in apps for model in app["models"]]
    models.sort(key=lambda model: ORDER.index(model["object_name"]))
    url = reverse("admin:index")
    app = {"name": "Administration", "app_label": "chatapp", "app_url": url, "models": models}
    return [app] if models else []


def require_second_factor(view: Any, cacheable: bool = False) -> Any:
    """Return an admin view that first requires the second factor, if the user must have one."""

    @wraps(view)
    def guard_view(request: HttpRequest, *args: object, **options: object) -> HttpResponseBase:
        answer: HttpResponseBase = redirect_to_second_factor(request) or view(
            request, *args, **options
        )
        return answer

    return AdminSite.admin_view(admin.site, guard_view, cacheable)


admin.site.admin_view = require_second_factor  # type: ignore[method-assign]
admin.site.get_app_list = list_all_models  # type: ignore[method-assign]
# Use the app's own pages to sign in and to change one's password. Django's sign-in form would let
# signed-in staff try other people's passwords, without a rate limit and without the second factor.
admin.site.login = require_safe(secure_admin_login(admin.site.login))  # type: ignore[method-assign]
# In one transaction with its audit event.
admin.site.logout = transaction.atomic(admin.site.logout)  # type: ignore[method-assign]
admin.site.password_change = RedirectView.as_view(  # type: ignore[method-assign,assignment]
    pattern_name="account_change_password"
)
# Unregister allauth's addresses: one added there could be used to sign in; the app creates none.
admin.site.unregister(EmailAddress)
# These hold secrets, and have their own pages.
admin.site.unregister(Authenticator)
admin.site.unregister([SocialAccount, SocialApp, SocialToken])
