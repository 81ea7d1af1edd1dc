"""The forms of the set-up steps."""

from collections.abc import Sequence
from typing import Any

from django import forms

from chatapp.models import Upstream
from chatapp.models.accounts.access_rules import MAX_MODEL_LENGTH
from chatapp.models.platform.upstreams import validate_offered_models
from chatapp.staff.admin.upstreams import UpstreamForm
from chatapp.staff.people.forms import GivenForm
from chatapp.text.multiline import MultilineField
from chatapp.text.visible import VisibleCharField

UNREADABLE = (
    "The stored key can't be read, because SECRET_KEY has changed since it was saved. Enter the "
    "key again."
)
MAX_SHOWN = 500  # models to tick; others can be entered under /admin/


class AddressForm(UpstreamForm):
    """The name, address and key of an upstream."""

    takes_doubtful = None  # type: ignore[assignment]  # parameters are set later
    field_order = ["name", "base_url", "new_api_key"]

    class Meta(UpstreamForm.Meta):
        fields = ["name", "base_url"]
        field_classes = {"name": VisibleCharField}
        help_texts = {"name": "Shown next to its models."}

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["name"].widget.attrs["autofocus"] = True
        self.fields["base_url"].label = "Address"
        key = self.fields["new_api_key"]
        if self.instance.pk is None:
            key.help_text = "Stored encrypted and never shown again."
        elif self.instance.secret_problem:
            key.help_text = UNREADABLE


class ModelForm(forms.Form):
    """The model that a test asks, if the upstream does not list its models."""

    model = VisibleCharField(required=False, max_length=MAX_MODEL_LENGTH)


class OfferForm(GivenForm):
    """Which models an upstream offers, and to whom."""

    which = forms.ChoiceField(
        label="Models",
        choices=[("all", "All models, including new ones"), ("some", "Only these")],
        widget=forms.RadioSelect,
        initial="all",
    )
    models = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    names = MultilineField(
        label="Model names",
        required=False,
        validators=[validate_offered_models],
        widget=forms.Textarea({"rows": 4, "spellcheck": "false"}),
        help_text="One per line, as the provider names them.",
    )

    def __init__(
        self, data: Any, upstream: Upstream, listed: Sequence[str], initial: dict[str, Any]
    ) -> None:
        named = list(upstream.named_models)
        which = "some" if named else "all"
        stored = {"which": which, "models": named, "names": upstream.offered_models}
        super().__init__(data, initial=stored | initial)
        if listed:
            del self.fields["names"]
            tickable = (one for one in listed if one.split() == [one] and "=" not in one)
            shown = list(dict.fromkeys([*named, *tickable]))[:MAX_SHOWN]
            self.fields["models"].choices = [(one, one) for one in shown]  # type: ignore[attr-defined]
        else:
            del self.fields["which"], self.fields["models"]
            self.fields["names"].required = True
        self._named = upstream.named_models

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if fields.get("which") == "some" and not fields.get("models"):
            self.add_error("models", "Choose at least one model, or offer all.")
        return fields

    @property
    def offered_models(self) -> str:
        """The new `Upstream.offered_models`, with the display names set earlier; "" means all."""
        if "names" in self.fields:
            return str(self.cleaned_data["names"])
        chosen = self.cleaned_data["models"] if self.cleaned_data["which"] == "some" else ()
        lines = ((one, self._named.get(one, "")) for one in chosen)
        return "\n".join(f"{one} = {name}" if name else one for one, name in lines)
