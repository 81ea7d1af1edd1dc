"""The page where administrators change the settings of the whole installation."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.models import Installation
from chatapp.models.platform import branding
from chatapp.staff.people.log import record
from chatapp.staff.site_settings.forms import SettingsForm


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def settings(request: HttpRequest) -> HttpResponse:
    """Show and save all settings at once. The audit log gets the changed ones."""
    if request.method == "POST":
        form = SettingsForm(request.POST, request.FILES, instance=Installation.load())
        if form.is_valid():
            with transaction.atomic():
                before, after = form.store()
                if before != after:
                    record(
                        request, "installation.changed", form.instance, before=before, after=after
                    )
            branding.expire_branding()
            messages.success(request, "Saved.")
            return redirect("settings")
    else:
        form = SettingsForm(instance=Installation.load())
    context = {"form": form, "logo": Installation.load().logo}
    return render(request, "site_settings/settings.html", context)
