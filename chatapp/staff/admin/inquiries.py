"""Pages that ask what a saved upstream or tool server does. A button leads there, no link.

A stored key is sent or a command is started for it. So the password is asked for first, and the
audit log says who asked.
"""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from chatapp.accounts.confirming import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import refuse_scripts
from chatapp.models import User, audit
from chatapp.staff.admin.confirmed import ConfirmedAdmin


class InquiringAdmin(ConfirmedAdmin):
    """An admin with one such page more for each row, for who may change the row."""

    inquiry: str  # the last part of the page's address, and its template's name

    def inquire(self, asked: Any) -> dict[str, Any]:
        """Ask, and return what the template shows, the page's `title` among it."""
        raise NotImplementedError

    def before_inquiry(self, request: HttpRequest, asked: Any) -> HttpResponse | None:
        """Where to go instead; None where it may be asked."""
        return None

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.inquiry_view))
        name = f"{self.opts.app_label}_{self.opts.model_name}_{self.inquiry}"
        return [path(f"<path:object_id>/{self.inquiry}/", view, name=name), *super().get_urls()]

    def inquiry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """It may take a minute, and blocks no thread but this request's."""
        refuse_scripts(request)
        asked = self.get_object(request, object_id)
        if not self.has_change_permission(request, asked):
            raise PermissionDenied
        if asked is None:
            raise Http404
        if not is_confirmed(request):
            name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
            return ask_to_confirm(reverse(name, args=[asked.pk]))
        if elsewhere := self.before_inquiry(request, asked):
            return elsewhere
        assert isinstance(request.user, User)
        with transaction.atomic():
            audit.record(f"{self.opts.model_name}.checked", actor=request.user, about=asked)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": asked,
            **self.inquire(asked),
        }
        template = f"admin/{self.opts.app_label}/{self.opts.model_name}/{self.inquiry}.html"
        return TemplateResponse(request, template, context)
