"""What is added, changed and deleted here stands in the audit log, before and after.

All admins are of this class: it writes where Django's own history of an object is written.
"""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse

from chatapp.db.retry import once_more
from chatapp.models import Allowance, Limit, User, audit
from chatapp.staff.admin.secret_forms import SecretForm

NOUNS = {"user": "person"}  # other models are called in the log as they are
ROLES = frozenset({"is_staff", "is_superuser", "reviews", "groups", "user_permissions"})
PASSWORDS = frozenset({"password", "password1", "password2"})
SECRET_CHANGED = "changed"  # noqa: S105 - all that is said of one


class Changes(list[dict[str, Any]]):
    """Django's own message of a change, and what the fields said before and after it."""

    before: dict[str, Any]
    after: dict[str, Any]


class RecordedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    limited_by = ""  # the field of limits that names a row, with which they go

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        view = once_more(super().changeform_view)
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
            changes.after[name] = _plain(form, name, form.cleaned_data.get(name))
            if not add:
                changes.before[name] = _plain(form, name, form.initial.get(name))
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
            for one in queryset:
                self._delete_limits(request, one)
                changes, gone = Changes(), self.taken_along_by(one)
                changes.before = {name: values for name, values in gone.items() if values}
                self._record(request, "deleted", one, changes)
        return entries

    def response_action(  # type: ignore[override]  # the stubs are of a later Django
        self, request: HttpRequest, queryset: Any
    ) -> HttpResponse | None:
        """What is done to the selected ones, with its events or not at all."""
        with transaction.atomic():
            return super().response_action(request, queryset)

    def taken_along_by(self, row: Any) -> dict[str, Any]:
        """What was set for a row, and goes with it, as the log says it."""
        return {}

    def _delete_limits(self, request: HttpRequest, row: models.Model) -> None:
        """They would go with the row, and nobody would learn of it."""
        assert isinstance(request.user, User)
        limits = Limit.objects.filter(**{self.limited_by: row}) if self.limited_by else ()
        for limit in limits:
            Allowance.objects.remove_of(limit)
            detail = {"before": limit.as_record()}
            audit.record("limit.deleted", actor=request.user, about=limit, detail=detail)
            limit.delete()

    def _record(self, request: HttpRequest, verb: str, obj: models.Model, message: Any) -> None:
        before, after = getattr(message, "before", {}), getattr(message, "after", {})
        action = f"{NOUNS.get(obj._meta.model_name or '', obj._meta.model_name)}.{verb}"
        if isinstance(obj, User) and verb == "changed":
            action = _of_person(after, action)
        assert isinstance(request.user, User)
        detail = {"before": before, "after": after}
        known = {name: values for name, values in detail.items() if values}
        audit.record(action, actor=request.user, about=obj, detail=known)


def is_secret(form: Any, name: str) -> bool:
    """Whether the log must not have what was typed there. A form of passwords names a field of
    the model's, which it has not; of a file it has no use for the bytes."""
    if name not in form.fields or isinstance(form.fields[name], forms.FileField):
        return True
    secrets = (form.secret_name, form.new_secret_name) if isinstance(form, SecretForm) else ()
    return name in secrets or isinstance(form.fields[name].widget, forms.PasswordInput)


def _of_person(changed: Iterable[str], action: str) -> str:
    if PASSWORDS & set(changed):
        return "password.changed"
    return "role.changed" if ROLES & set(changed) else action


def _plain(form: Any, name: str, value: Any) -> Any:
    """A row by its name and key, on either side of a change."""
    field = form.fields[name]
    if isinstance(field, forms.ModelMultipleChoiceField):
        return sorted(map(_named, value or ()))
    if isinstance(field, forms.ModelChoiceField):
        return _named(field.to_python(value)) if value else None
    return value


def _named(row: Any) -> str:
    return f"{row} ({row.pk})"
