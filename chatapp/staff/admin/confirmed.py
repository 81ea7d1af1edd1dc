"""Admin classes that ask for the password before changes, on a page of its own.

A session alone is not enough, and neither is a request sent by a script or by htmx: code injected
into an administrator's page would have the session, but not the password.
"""

from typing import Any

from django import forms
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest
from django.db.models import CharField, JSONField, TextField
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest, HttpResponse

from chatapp.accounts.confirmation import ask_to_confirm, check_own_password, confirm, is_confirmed
from chatapp.accounts.staff import refuse_scripts
from chatapp.db.primary_keys import parse_pk
from chatapp.db.secrets import SecretField
from chatapp.models import User
from chatapp.staff.admin.recorded import RecordedAdmin
from chatapp.staff.admin.stored_json import StoredJSONField
from chatapp.text.multiline import MultilineField
from chatapp.text.visible import VisibleCharField

PASSWORD_FIELD = "your_password"  # noqa: S105 - a field's name
CONFIRMATION_EXPIRED = (
    "Nothing was saved, because you last entered your password too long ago. Enter it and save "
    "again. Your changes are still here, except keys and passwords."
)


class PasswordField(forms.CharField):
    """The user's own password, entered to confirm a change."""

    widget = forms.PasswordInput(attrs={"autocomplete": "current-password"})

    def has_changed(self, initial: object, data: object) -> bool:
        """Return False, so that the history and the audit log leave the field out."""
        return False


class ConfirmedAdmin(RecordedAdmin):
    """An admin that only allows changes shortly after the user entered their password.

    The password is asked for before a form is shown. If the form is submitted too late, it is asked
    for in the form itself, so that nothing typed is lost.
    """

    formfield_overrides = {
        CharField: {"form_class": VisibleCharField},
        TextField: {"form_class": MultilineField},
        JSONField: {"form_class": StoredJSONField},
    }

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        refuse_scripts(request)
        needs_password = request.method != "POST" and not is_confirmed(request)
        if needs_password and self._may_edit(request, object_id):
            return ask_to_confirm(request.get_full_path())
        return super().changeform_view(request, object_id, form_url, extra_context)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        refuse_scripts(request)
        if self.has_delete_permission(request) and not is_confirmed(request):
            return ask_to_confirm(request.get_full_path())
        return super().delete_view(request, object_id, extra_context)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list. A POST runs an action on the selected rows."""
        refuse_scripts(request)
        if not all(map(parse_pk, request.POST.getlist(ACTION_CHECKBOX_NAME))):
            raise BadRequest("Invalid selection.")
        if request.method == "POST" and not is_confirmed(request):
            self.message_user(request, "Nothing was changed yet. Make your selection again.")
            return ask_to_confirm(request.get_full_path())
        return super().changelist_view(request, extra_context)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Refuse filters on secrets and on years.

        A filter would reveal a secret character by character, and a year may be out of range.
        """
        secrets = {field.name for field in self.opts.get_fields() if isinstance(field, SecretField)}
        is_refused = not {"year", "iso_year", *secrets}.isdisjoint(lookup.split(LOOKUP_SEP))
        return not is_refused and super().lookup_allowed(lookup, value, request)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any
    ) -> Any:
        names = options.get("fields")
        if not names or PASSWORD_FIELD not in names:
            return super().get_form(request, obj, change=change, **options)
        options["fields"] = [name for name in names if name != PASSWORD_FIELD]
        form: Any = super().get_form(request, obj, change=change, **options)

        def check(form: Any) -> None:
            assert isinstance(request.user, User)
            check_own_password(request.user, form.cleaned_data[PASSWORD_FIELD])
            confirm(request)

        field = PasswordField(strip=False, error_messages={"required": CONFIRMATION_EXPIRED})
        return type(
            form.__name__, (form,), {PASSWORD_FIELD: field, f"clean_{PASSWORD_FIELD}": check}
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if request.method != "POST" or is_confirmed(request):
            return fieldsets
        return [("Confirm it is you", {"fields": [PASSWORD_FIELD]}), *fieldsets]

    def _may_edit(self, request: HttpRequest, object_id: str | None) -> bool:
        if object_id is None:
            return self.has_add_permission(request)
        return self.has_change_permission(request, self.get_object(request, unquote(object_id)))
