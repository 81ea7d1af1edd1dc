"""The admin of people and groups. Only superusers assign roles, and change people who have one.

Other staff, if permitted to change people, can only change those without a role: setting another
staff member's password would give them that person's rights. This includes their own account; they
change their own password on the account page.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import (
    AdminPasswordChangeForm,
    ReadOnlyPasswordHashField,
    ReadOnlyPasswordHashWidget,
    UserChangeForm,
    UserCreationForm,
)
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import F, QuerySet
from django.forms import CheckboxSelectMultiple
from django.http import HttpRequest, HttpResponse

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.erasing import LastAdministrator, OwnedRows, erase
from chatapp.accounts.forms import UniqueEmail
from chatapp.accounts.passwords import ADVICE
from chatapp.accounts.staff import refuse_scripts
from chatapp.models import LegalHold, User
from chatapp.models.accounts.users import LAST_ADMINISTRATOR
from chatapp.models.policies.legal_holds import UNDER_HOLD, UnderLegalHold
from chatapp.models.review.saved_views import rename
from chatapp.staff.admin.confirmed import ConfirmedAdmin

ROLES = ["is_staff", "is_superuser", "reviews", "groups", "user_permissions"]
DELETION_NOTES = [
    "All their chats, with every branch and image, even if reviewed.",
    "Their running replies are stopped, and their tabs are closed.",
    "Their sessions, and their name in the history of these pages. Backups are not changed.",
]


class PersonAddForm(UniqueEmail, UserCreationForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["username"].help_text = ""  # errors explain what is not allowed
        self.fields["password1"].help_text = ADVICE
        self.fields["password2"].help_text = ""


class HiddenPasswordHash(ReadOnlyPasswordHashWidget):
    """A link to set a new password, without the usual summary of the hash."""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        return super().get_context(name, value, attrs) | {"summary": []}


class PersonForm(UniqueEmail, UserChangeForm):  # type: ignore[type-arg]
    password = ReadOnlyPasswordHashField(
        widget=HiddenPasswordHash,
        help_text="Passwords can't be read. If someone forgets theirs, set a new one.",
    )

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        stays_administrator = all(
            fields.get(name, True) for name in ("is_active", "is_staff", "is_superuser")
        )
        if not stays_administrator and User.leaves_no_administrator([self.instance.pk]):
            raise ValidationError(LAST_ADMINISTRATOR)
        return fields


class NewPasswordForm(AdminPasswordChangeForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields.pop("usable_password", None)  # there is no other way to sign in
        for name in ("password1", "password2"):
            self.fields[name].required = True
        self.fields["password1"].help_text = ADVICE


class CheckboxAdmin(ModelAdmin):  # type: ignore[type-arg]
    """Show groups and permissions as checkboxes.

    Django's pair of lists cannot be used on a phone, and screen readers do not read their names.
    """

    def formfield_for_manytomany(
        self, db_field: Any, request: HttpRequest | None = None, **options: Any
    ) -> Any:
        options["widget"] = CheckboxSelectMultiple
        field: Any = super().formfield_for_manytomany(db_field, request, **options)  # type: ignore[arg-type]
        if db_field.related_model is Permission:
            field.queryset = self._useful_permissions()
            field.label_from_instance = lambda permission: permission.name
        return field

    def _useful_permissions(self) -> QuerySet[Permission]:
        """Return the permissions for models in the admin; only reviewers read conversations."""
        registered_models = filter(self.admin_site.is_registered, apps.get_models())
        types = ContentType.objects.get_for_models(*registered_models).values()
        return Permission.objects.filter(content_type__in=types).exclude(
            content_type__model="conversation"
        )


@admin.register(User)
class PersonAdmin(CheckboxAdmin, ConfirmedAdmin, UserAdmin):  # type: ignore[type-arg]
    add_form = PersonAddForm
    form = PersonForm
    change_password_form = NewPasswordForm
    change_user_password_template = "admin/chatapp/user/change_password.html"  # noqa: S105
    add_fieldsets = [(None, {"fields": ["username", "email", "password1", "password2"]})]
    list_display = ["username", "email", "role", "is_active", "last_login"]
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        ("Personal info", {"fields": ["first_name", "last_name", "email"]}),
        ("Permissions", {"fields": ["is_active", *ROLES]}),
        ("Important dates", {"fields": ["last_login", "date_joined"]}),
    ]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and _may_edit_person(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_edit_person(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        dates = ["last_login", "date_joined"]
        if not is_superuser(request):
            return [*ROLES, *dates]
        would_promote_self = obj == request.user and not obj.reviews
        return [*dates, "reviews"] if would_promote_self else dates

    @admin.display(ordering=F("is_superuser").desc())
    def role(self, person: User) -> str:
        return ", ".join(person.roles)

    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        refuse_scripts(request)
        if self.has_change_permission(request) and not is_confirmed(request):
            return ask_to_confirm(request.get_full_path())
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what would be deleted as counts: a list would be slow, and reveal private data."""
        people = list(objs)
        lacking = {
            str(self.opts.verbose_name)
            for person in people
            if not self.has_delete_permission(request, person)
        }
        protected = [LAST_ADMINISTRATOR] if _leaves_no_administrator(people) else []
        holds = LegalHold.objects.living().filter(user__in=[person.pk for person in people])
        protected += [UNDER_HOLD] if holds.exists() else []
        owned_rows = OwnedRows.of([person.pk for person in people])
        counts = {str(self.opts.verbose_name_plural): len(people), **asdict(owned_rows)}
        return [*map(str, people), *DELETION_NOTES], counts, lacking, protected

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        stored = User.objects.select_for_update(no_key=True).filter(pk=obj.pk).first()
        super().save_model(request, obj, form, change)
        if stored and stored.username != obj.username:
            rename(stored.username, obj.username)

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        """Erase the person after the page's transaction, which would hold many locks for long."""
        transaction.on_commit(lambda: _erase(request, [obj]))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        people = list(queryset)
        transaction.on_commit(lambda: _erase(request, people))


admin.site.unregister(Group)


@admin.register(Group)
class RoleAdmin(CheckboxAdmin, ConfirmedAdmin, GroupAdmin):
    """The admin of groups. As groups grant permissions, only superusers may use it."""

    limited_by = "group"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)


def is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and getattr(request.user, "is_superuser", False))


def _may_edit_person(request: HttpRequest, person: User | None) -> bool:
    has_role = person is not None and (person.is_staff or person.is_superuser or person.reviews)
    return is_superuser(request) or not has_role


def _leaves_no_administrator(people: Iterable[User]) -> bool:
    with transaction.atomic():
        return User.leaves_no_administrator([person.pk for person in people])


def _erase(request: HttpRequest, people: list[User]) -> None:
    try:
        reports = erase(people, request.user if isinstance(request.user, User) else None)
    except LastAdministrator:  # the other one is gone since the page was rendered
        raise PermissionDenied(LAST_ADMINISTRATOR) from None
    except UnderLegalHold as held:  # by a legal hold begun since
        raise PermissionDenied(str(held)) from None
    for report in reports:
        messages.info(request, report.sentence)
