"""Log every addition, change and deletion in the admin in the audit log, before and after.

All admin classes inherit from this one. It logs where Django writes its own history of an object.
"""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse

from chatapp.db.retry import retry_on_integrity_error
from chatapp.models import BudgetAccount, Limit, User, audit
from chatapp.staff.admin.secret_forms import SecretForm

NOUNS = {"user": "person"}  # other models have the same name in the log
ROLES = frozenset({"is_staff", "is_superuser", "reviews", "groups", "user_permissions"})
PASSWORDS = frozenset({"password", "password1", "password2"})
SECRET_CHANGED = "changed"  # noqa: S105 - logged in place of a secret


class Changes(list[dict[str, Any]]):
    """Django's change message, with the values of the fields before and after the change."""

    before: dict[str, Any]
    after: dict[str, Any]


class RecordedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """An admin whose changes are recorded in the audit log."""

    limited_by = ""  # the field of `Limit` that refers to a row; such limits are deleted with it

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        view = retry_on_integrity_error(super().changeform_view)
        return view(request, object_id, form_url, extra_context)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Changes:
        changes = Changes(super().construct_change_message(request, form, formsets, add))
        changes.before, changes.after = {}, {}
        for name in form.changed_data:
            if is_secret(form, name):
                changes.after[name] = SECRET_CHANGED
                continue
            changes.after[name] = _format_value(form, name, form.cleaned_data.get(name))
            if not add:
                changes.before[name] = _format_value(form, name, form.initial.get(name))
        return changes

    def log_addition(self, request: HttpRequest, obj: models.Model, message: Any) -> Any:
        with transaction.atomic():
            entry = super().log_addition(request, obj, message)
            self._record(request, "added", obj, message)
        return entry

    def log_change(self, request: HttpRequest, obj: models.Model, message: Any) -> Any:
        with transaction.atomic():
            entry = super().log_change(request, obj, message)
            self._record(request, "changed", obj, message)
        return entry

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        with transaction.atomic():
            entries = super().log_deletions(request, queryset)
            for row in queryset:
                self._delete_limits(request, row)
                changes, cascade = Changes(), self.describe_cascade(row)
                changes.before = {name: values for name, values in cascade.items() if values}
                self._record(request, "deleted", row, changes)
        return entries

    def response_action(  # type: ignore[override]  # the stubs are of a later Django
        self, request: HttpRequest, queryset: Any
    ) -> HttpResponse | None:
        """Run an action on the selected rows in one transaction with its audit events."""
        with transaction.atomic():
            return super().response_action(request, queryset)

    def describe_cascade(self, row: Any) -> dict[str, Any]:
        """Return the settings that are deleted with a row, as the audit log shows them."""
        return {}

    def _delete_limits(self, request: HttpRequest, row: models.Model) -> None:
        """Delete a row's limits with an event for each; the cascade would not log them."""
        assert isinstance(request.user, User)
        limits = Limit.objects.filter(**{self.limited_by: row}) if self.limited_by else ()
        for limit in limits:
            BudgetAccount.objects.remove_limit(limit)
            detail = {"before": limit.as_record()}
            audit.record("limit.deleted", actor=request.user, about=limit, detail=detail)
            limit.delete()

    def _record(self, request: HttpRequest, verb: str, obj: models.Model, message: Any) -> None:
        before, after = getattr(message, "before", {}), getattr(message, "after", {})
        action = f"{NOUNS.get(obj._meta.model_name or '', obj._meta.model_name)}.{verb}"
        if isinstance(obj, User) and verb == "changed":
            action = _person_action(after, action)
        assert isinstance(request.user, User)
        detail = {"before": before, "after": after}
        filled_detail = {name: values for name, values in detail.items() if values}
        audit.record(action, actor=request.user, about=obj, detail=filled_detail)


def is_secret(form: Any, name: str) -> bool:
    """Whether the value of a field must stay out of the log.

    Password forms also report a field of the model that they do not have. Files are left out too.
    """
    if name not in form.fields or isinstance(form.fields[name], forms.FileField):
        return True
    secrets = (form.secret_name, form.new_secret_name) if isinstance(form, SecretForm) else ()
    return name in secrets or isinstance(form.fields[name].widget, forms.PasswordInput)


def _person_action(changed: Iterable[str], action: str) -> str:
    if PASSWORDS & set(changed):
        return "password.changed"
    return "role.changed" if ROLES & set(changed) else action


def _format_value(form: Any, name: str, value: Any) -> Any:
    """Return a field's value for the log; rows are shown by name and key."""
    field = form.fields[name]
    if isinstance(field, forms.ModelMultipleChoiceField):
        return sorted(map(_format_row, value or ()))
    if isinstance(field, forms.ModelChoiceField):
        return _format_row(field.to_python(value)) if value else None
    return value


def _format_row(row: Any) -> str:
    return f"{row} ({row.pk})"
