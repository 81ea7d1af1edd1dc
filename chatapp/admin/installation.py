"""What is set for the whole installation: one page, and no list."""

from typing import Any, NamedTuple

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminFileWidget, AdminTextInputWidget
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Field
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from chatapp.admin.confirmed import ConfirmedAdmin
from chatapp.models import Installation, Logo
from chatapp.models.branding import OWN_ACCENT, OWN_NAME
from chatapp.models.installation import ONLY
from chatapp.models.logos import MEDIA_TYPES, MOST_BYTES, MOST_PIXELS, TOO_LARGE, logo_of

NOTHING_CHOSEN = {
    "title_upstream": "None: the first words of the prompt",
    "default_upstream": "None: the first that is offered",
}


class ColourInput(forms.TextInput):
    """A browser's picker, which always has a colour: the app's own stands for none."""

    input_type = "color"

    def format_value(self, value: Any) -> str | None:
        shown: str | None = super().format_value(value or OWN_ACCENT)
        return shown

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        colour = str(super().value_from_datadict(data, files, name) or "").lower()
        return "" if colour == OWN_ACCENT else colour


class Shown(NamedTuple):
    """The logo that there is, as a field for files shows one."""

    url: str

    def __str__(self) -> str:
        return "the logo"


class InstallationForm(forms.ModelForm):  # type: ignore[type-arg]
    logo = forms.FileField(
        required=False,
        widget=AdminFileWidget({"accept": ",".join(MEDIA_TYPES)}),
        help_text=f"In place of the app's mark. PNG, JPEG or WebP, up to {MOST_BYTES // 1024} KiB "
        f"and {MOST_PIXELS:,} pixels a side; it is shown in a small square.",
    )

    class Meta:
        widgets = {"accent": ColourInput, "name": AdminTextInputWidget({"placeholder": OWN_NAME})}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.logo and "logo" in self.fields:
            self.fields["logo"].initial = Shown(self.instance.logo)

    def clean_logo(self) -> Any:
        """What was uploaded, as an image; False where the logo is to go."""
        given: Any = self.cleaned_data["logo"]
        if not isinstance(given, UploadedFile):
            return given
        if given.size is None or given.size > MOST_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return logo_of(given.read())


@admin.register(Installation)
class InstallationAdmin(ConfirmedAdmin):
    form = InstallationForm
    fieldsets = [
        ("Branding", {"fields": ["name", "accent", "logo"]}),
        ("New chats", {"fields": ["notice", "default_upstream", "default_model"]}),
        ("Titles of conversations", {"fields": ["title_upstream", "title_model"]}),
    ]

    def formfield_for_dbfield(
        self, db_field: "Field[Any, Any]", request: HttpRequest, **options: Any
    ) -> forms.Field | None:
        """Upstreams are chosen here, and set up on their own page."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if isinstance(field, forms.ModelChoiceField):
            field.empty_label = NOTHING_CHOSEN[db_field.name]
            field.widget = field.widget.widget
        return field

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if "logo" in form.changed_data:
            obj.logo_version = Logo.replace(form.cleaned_data["logo"] or None)
        super().save_model(request, obj, form, change)

    def get_object(self, *_: object) -> Installation:
        """The one row; what nobody has set yet is stored with the first change."""
        return Installation.this()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return redirect("admin:chatapp_installation_change", ONLY)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False
