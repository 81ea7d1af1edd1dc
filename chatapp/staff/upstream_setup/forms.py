"""What is sent in the guide."""

from collections.abc import Sequence
from typing import Any

from django import forms

from chatapp.models import Upstream
from chatapp.models.upstreams import validate_offered_models
from chatapp.staff.admin.upstreams import UpstreamForm
from chatapp.staff.people.forms import GivenForm
from chatapp.text.multiline import LinesField
from chatapp.text.visible import SeenField

MOST_SHOWN = 500  # models to tick; more are named in the administration


class AddressForm(UpstreamForm):
    takes_doubtful = None  # type: ignore[assignment]  # parameters are set later
    field_order = ["name", "base_url", "new_api_key"]

    class Meta(UpstreamForm.Meta):
        fields = ["name", "base_url"]
        field_classes = {"name": SeenField}
        help_texts = {"name": "As people read it beside its models."}

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["name"].widget.attrs["autofocus"] = True
        self.fields["base_url"].label = "Address"
        if self.instance.pk is None:
            self.fields["new_api_key"].help_text = "Stored encrypted and never shown again."


class OfferForm(GivenForm):
    """Which models an upstream offers, and to whom."""

    which = forms.ChoiceField(
        label="Models",
        choices=[("all", "All that it lists, new ones too"), ("some", "These alone")],
        widget=forms.RadioSelect,
        initial="all",
    )
    models = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    names = LinesField(
        label="Names of its models",
        required=False,
        validators=[validate_offered_models],
        widget=forms.Textarea({"rows": 4, "spellcheck": "false"}),
        help_text="One a line, as the upstream calls them.",
    )

    def __init__(
        self, data: Any, upstream: Upstream, listed: Sequence[str], initial: dict[str, Any]
    ) -> None:
        named = list(upstream.named_models)
        which = "some" if named else "all"
        known = {"which": which, "models": named, "names": upstream.offered_models}
        super().__init__(data, initial=known | initial)
        if listed:
            del self.fields["names"]
            tickable = (one for one in listed if one.split() == [one] and "=" not in one)
            shown = list(dict.fromkeys([*named, *tickable]))[:MOST_SHOWN]
            self.fields["models"].choices = [(one, one) for one in shown]  # type: ignore[attr-defined]
        else:
            del self.fields["which"], self.fields["models"]
            self.fields["names"].required = True
        self._named = upstream.named_models

    def clean(self) -> dict[str, Any]:
        wanted = super().clean() or {}
        if wanted.get("which") == "some" and not wanted.get("models"):
            self.add_error("models", "Choose one at least, or offer all.")
        return wanted

    @property
    def offered_models(self) -> str:
        """As an upstream keeps them, with the names that they were given before; "" is all."""
        if "names" in self.fields:
            return str(self.cleaned_data["names"])
        chosen = self.cleaned_data["models"] if self.cleaned_data["which"] == "some" else ()
        lines = ((one, self._named.get(one, "")) for one in chosen)
        return "\n".join(f"{one} = {name}" if name else one for one, name in lines)
