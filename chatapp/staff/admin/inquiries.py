"""Admin pages that query a saved upstream or tool server. They only answer POST, from a button.

Such a query sends a stored key or starts a command. So the password is asked for first, and the
audit log records who made the query.
"""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import refuse_scripts
from chatapp.models import User, audit
from chatapp.staff.admin.confirmed import ConfirmedAdmin


class InquiringAdmin(ConfirmedAdmin):
    """An admin with an extra page that queries a row's server, for users who may change the row."""

    inquiry: str  # the last part of the page's URL, and the name of its template

    def inquire(self, row: Any) -> dict[str, Any]:
        """Query the server, and return the template's context, including the page's `title`."""
        raise NotImplementedError

    def before_inquiry(self, request: HttpRequest, row: Any) -> HttpResponse | None:
        """Return a response to send instead of the query; None if the query may be made."""
        return None

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.inquiry_view))
        name = f"{self.opts.app_label}_{self.opts.model_name}_{self.inquiry}"
        return [path(f"<path:object_id>/{self.inquiry}/", view, name=name), *super().get_urls()]

    def inquiry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Query the server and show the result. May take a minute, but blocks only this thread."""
        refuse_scripts(request)
        row = self.get_object(request, object_id)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        if row is None:
            raise Http404
        if not is_confirmed(request):
            name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
            return ask_to_confirm(reverse(name, args=[row.pk]))
        if response := self.before_inquiry(request, row):
            return response
        assert isinstance(request.user, User)
        with transaction.atomic():
            audit.record(f"{self.opts.model_name}.checked", actor=request.user, about=row)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": row,
            **self.inquire(row),
        }
        template = f"admin/{self.opts.app_label}/{self.opts.model_name}/{self.inquiry}.html"
        return TemplateResponse(request, template, context)
