"""Changes that matter are made by a person who has just given the password, on a page of their own.

A session alone makes none of them, and neither does a request that a script or an attribute of
htmx sends: whatever gets into a page that an administrator looks at has the session, and no more.
"""

from typing import Any

from django import forms
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest
from django.db.models import CharField, JSONField, TextField
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest, HttpResponse

from chatapp.accounts.confirming import ask_to_confirm, check_own_password, confirm, is_confirmed
from chatapp.accounts.staff import refuse_scripts
from chatapp.db.primary_keys import key_of
from chatapp.models import User
from chatapp.models.secrets import SecretField
from chatapp.staff.admin.recorded import RecordedAdmin
from chatapp.staff.admin.stored_json import StoredJSONField
from chatapp.text.multiline import LinesField
from chatapp.text.visible import SeenField

PASSWORD_FIELD = "your_password"  # noqa: S105 - a field's name
LATE = (
    "Your password was asked for too long ago, so nothing was changed. Enter it, and save again: "
    "what you typed is still here, keys and passwords aside."
)


class PasswordField(forms.CharField):
    widget = forms.PasswordInput(attrs={"autocomplete": "current-password"})

    def has_changed(self, initial: object, data: object) -> bool:
        """Never: it is no part of what the history tells."""
        return False


class ConfirmedAdmin(RecordedAdmin):
    """Adds, changes and deletes for who gave the password a short while ago.

    It is asked for before a form is shown. Where a form comes too late, it is asked for in the form
    itself, so that nothing typed is lost.
    """

    formfield_overrides = {
        CharField: {"form_class": SeenField},
        TextField: {"form_class": LinesField},
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
        is_late = request.method != "POST" and not is_confirmed(request)
        if is_late and self._may_edit(request, object_id):
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
        """Posts are what is done to the selected ones."""
        refuse_scripts(request)
        if not all(map(key_of, request.POST.getlist(ACTION_CHECKBOX_NAME))):
            raise BadRequest("What was selected is no row.")
        if request.method == "POST" and not is_confirmed(request):
            self.message_user(request, "Nothing was done yet. Select again what it was meant for.")
            return ask_to_confirm(request.get_full_path())
        return super().changelist_view(request, extra_context)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Never for a secret, which a filter would give away character by character; nor by a
        year, which may be one of no calendar."""
        secrets = {one.name for one in self.opts.get_fields() if isinstance(one, SecretField)}
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

        field = PasswordField(strip=False, error_messages={"required": LATE})
        return type(
            form.__name__, (form,), {PASSWORD_FIELD: field, f"clean_{PASSWORD_FIELD}": check}
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if request.method != "POST" or is_confirmed(request):
            return fieldsets
        return [("Confirm that it is you", {"fields": [PASSWORD_FIELD]}), *fieldsets]

    def _may_edit(self, request: HttpRequest, object_id: str | None) -> bool:
        if object_id is None:
            return self.has_add_permission(request)
        return self.has_change_permission(request, self.get_object(request, unquote(object_id)))
