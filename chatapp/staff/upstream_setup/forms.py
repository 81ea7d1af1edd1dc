"""The forms of the set-up steps."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.utils import timezone

from chatapp import tools
from chatapp.models import Upstream
from chatapp.models.accounts.access_rules import MAX_MODEL_LENGTH
from chatapp.models.platform.addresses import parse_origin
from chatapp.models.platform.upstream_validators import validate_offered_models
from chatapp.parameters.doubts import doubts_about
from chatapp.staff.people.forms import AccessRuleForm
from chatapp.staff.secret_forms import SecretForm
from chatapp.staff.upstream_setup.stored_json import StoredJSONField
from chatapp.text.multiline import MultilineField
from chatapp.text.visible import VisibleCharField
from chatapp.upstream.wire.errors.context_refusals import MAX_WINDOW, MIN_WINDOW
from chatapp.upstream.wire.requests.estimates import cost_of_tools

UNREADABLE = (
    "The stored key can't be read, because SECRET_KEY has changed since it was saved. Enter the "
    "key again."
)
MAX_NAME_LENGTH = 100
MAX_DESCRIPTION_LENGTH = 200
MAX_SHOWN = 190  # models to tick: Django accepts 1,000 fields, and each model has five
TAKES_IMAGES = {"yes": True, "no": False}


class AddressForm(SecretForm):
    """The name and address of an upstream, and its API key, which is write-only."""

    secret_name = "api_key"  # noqa: S105 - a field's name
    new_secret_name = "new_api_key"  # noqa: S105 - a field's name
    moved_error = "The stored key was entered for another server. Enter a key for this one."

    new_api_key = forms.CharField(
        label="API key",
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again. Leave empty to keep the stored key. "
        "Enter it again if the address moves to another server: another scheme, host or port.",
    )
    field_order = ["name", "base_url", "new_api_key"]

    class Meta:
        model = Upstream
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

    def clean(self) -> dict[str, Any]:
        fields = super().clean()
        if not {"base_url", "new_api_key"}.isdisjoint(self.changed_data):
            self.instance.connected_at = timezone.now()
        return fields

    def goes_elsewhere(self, fields: dict[str, Any]) -> bool:
        """Whether the address is on another server; another path on the same one keeps the key."""
        origin = parse_origin(fields.get("base_url", ""))
        return origin is not None and origin != parse_origin(self.initial["base_url"])


class RequestsForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form of what the app sends with each request, and how long it waits for a reply."""

    takes_doubtful = forms.BooleanField(
        label="Send these request parameters as they are",
        required=False,
        widget=forms.HiddenInput,  # until there is something to confirm
        help_text="For parameters that only this provider accepts.",
    )
    field_order = ["parameters", "takes_doubtful"]

    class Meta:
        model = Upstream
        fields = [
            *("parameters", "dialect", "offers_tools", "offers_clock"),
            *("drains_stopped", "silence_seconds", "image_side"),
        ]
        field_classes = {"parameters": StoredJSONField}
        labels = {"offers_tools": "Offer tools", "parameters": "Other parameters, as JSON"}
        help_texts = {
            "parameters": "Sent with every request, for example "
            '{"temperature": 0.2, "n": 2, "logprobs": true}. People can see them under '
            "“Show request”, so don't put a secret here.",
            "dialect": "Automatic works with any provider. Naming the server avoids fields that it "
            "does not need, and spells parameters as it does.",
            "silence_seconds": "Seconds without a byte after which a reply ends as timed out. "
            "Models that think for long without sending anything need more.",
        }

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["parameters"].widget.attrs |= {"rows": 6, "spellcheck": "false"}
        tokens = cost_of_tools([tools.CLOCK.as_request()])
        help_text = f" About {tokens} tokens per request; a test measures this."
        self.fields["offers_clock"].help_text += help_text

    def clean(self) -> dict[str, Any]:
        """Ask to confirm unknown parameters, since upstreams silently ignore misspelt ones."""
        fields = super().clean() or {}
        parameters = fields.get("parameters") or {}
        is_new = parameters != self.initial["parameters"]
        if is_new and (doubts := doubts_about(parameters)):
            self.fields["takes_doubtful"].widget = forms.CheckboxInput()
            if not fields["takes_doubtful"]:
                remedy = "Correct this, or confirm below that it is intended."
                self.add_error("parameters", ValidationError([*doubts, remedy]))
        return fields

    @property
    def changes(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The changed settings before and after, for the audit log."""
        new = self.cleaned_data
        names = [name for name in self.Meta.fields if new[name] != self.initial[name]]
        before = {name: self.initial[name] for name in names}
        return before, {name: new[name] for name in names}


class ModelForm(forms.Form):
    """The model that a test asks, if the upstream does not list its models."""

    model = VisibleCharField(required=False, max_length=MAX_MODEL_LENGTH)


class OfferForm(AccessRuleForm):
    """The form of the models that an upstream offers, and to whom."""

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

    titles = forms.BooleanField(required=False, initial=True)

    def __init__(
        self,
        data: Any,
        upstream: Upstream,
        listed: Sequence[str],
        initial: dict[str, Any],
        titles_by: str = "",
    ) -> None:
        """`titles_by` is the model that is proposed for the titles of chats."""
        named = list(upstream.named_models)
        which = "some" if named else "all"
        stored = {"which": which, "models": named, "names": upstream.offered_models}
        super().__init__(data, initial=stored | initial)
        names = upstream.display_names
        self.titles_by = titles_by
        self.fields["titles"].label = f"Write the titles of chats with {titles_by}"
        if not titles_by:
            del self.fields["titles"]
        if listed:
            del self.fields["names"]
            tickable = (model for model in listed if model.split() == [model] and "=" not in model)
            shown_models = list(dict.fromkeys([*named, *tickable]))[:MAX_SHOWN]
            self.fields["models"].choices = [(model, model) for model in shown_models]  # type: ignore[attr-defined]
            for number, model in enumerate(shown_models):
                self._add_model(number, model, names.get(model, ""), upstream)
        else:
            del self.fields["which"], self.fields["models"]
            self.fields["names"].required = True

    def _add_model(self, number: int, model: str, name: str, upstream: Upstream) -> None:
        """Add the fields of a model; `number` is its position in the list."""
        self.fields[_name_display_name_field(model)] = VisibleCharField(
            label=f"Name of {model}",
            required=False,
            max_length=MAX_NAME_LENGTH,
            initial=name,
            widget=_input(f"id_name_{number}", model[:MAX_NAME_LENGTH]),
        )
        self.fields[_name_description_field(model)] = VisibleCharField(
            label=f"Description of {model}",
            required=False,
            max_length=MAX_DESCRIPTION_LENGTH,
            initial=upstream.descriptions.get(model, ""),
            widget=_input(f"id_description_{number}", "What it is good at"),
        )
        takes_images = (upstream.model_images or {}).get(model)
        words = (word for word, takes in TAKES_IMAGES.items() if takes is takes_images)
        self.fields[_name_images_field(model)] = forms.ChoiceField(
            label=f"Images for {model}",
            required=False,
            choices=[("", "As listed"), ("yes", "Takes images"), ("no", "Text only")],
            initial=next(words, ""),
            widget=forms.Select({"id": f"id_images_{number}"}),
        )
        self.fields[_name_context_field(model)] = forms.IntegerField(
            label=f"Context of {model} in tokens",
            required=False,
            min_value=MIN_WINDOW,
            max_value=MAX_WINDOW,
            initial=(upstream.model_contexts or {}).get(model),
            widget=forms.NumberInput({"id": f"id_context_{number}", "placeholder": "As listed"}),
        )

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if fields.get("which") == "some" and not fields.get("models"):
            self.add_error("models", "Choose at least one model, or offer all.")
        return fields

    @property
    def offered_models(self) -> str:
        """The new `Upstream.offered_models`, in the order of the form; "" means all."""
        if "names" in self.fields:
            return str(self.cleaned_data["names"])
        chosen = self.cleaned_data["models"] if self.cleaned_data["which"] == "some" else ()
        return "\n".join(chosen)

    def names_after(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return the new names by model; models that the form does not show keep theirs."""
        return self._texts_after(before, _name_display_name_field)

    def descriptions_after(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return the new descriptions by model; models that the form does not show keep theirs."""
        return self._texts_after(before, _name_description_field)

    def _texts_after(
        self, before: Mapping[str, str], name_field: Callable[[str], str]
    ) -> dict[str, str]:
        entered = {model: self.cleaned_data[name_field(model)] for model in self._editable_models}
        return {model: text for model, text in {**before, **entered}.items() if text}

    def images_after(self, before: Mapping[str, bool]) -> dict[str, bool]:
        """Return which models take images, for those that the administrator decided about."""
        entered = {
            model: TAKES_IMAGES.get(self.cleaned_data[_name_images_field(model)])
            for model in self._editable_models
        }
        return {model: takes for model, takes in {**before, **entered}.items() if takes is not None}

    def contexts_after(self, before: Mapping[str, int]) -> dict[str, int]:
        """Return the sizes of contexts that the administrator entered, by model."""
        entered = {
            model: self.cleaned_data[_name_context_field(model)] for model in self._editable_models
        }
        return {model: tokens for model, tokens in {**before, **entered}.items() if tokens}

    @property
    def _editable_models(self) -> Sequence[str]:
        """The models that the form has fields for."""
        if "models" not in self.fields:
            return ()
        return [model for model, _ in self.fields["models"].choices]  # type: ignore[attr-defined]

    @property
    def rows(self) -> Iterator[tuple[str, bool, Sequence[BoundField]]]:
        """Each model with whether it is ticked, and its other fields."""
        ticked = set(self["models"].value() or ())
        for model, _ in self.fields["models"].choices:  # type: ignore[attr-defined]
            names = (
                _name_display_name_field(model),
                _name_description_field(model),
                _name_images_field(model),
                _name_context_field(model),
            )
            yield model, model in ticked, [self[name] for name in names]


def _input(id: str, placeholder: str) -> forms.TextInput:
    return forms.TextInput({"autocomplete": "off", "id": id, "placeholder": placeholder})


def _name_description_field(model: str) -> str:
    """Return the name of the field for a model's description."""
    return f"description {model}"


def _name_images_field(model: str) -> str:
    """Return the name of the field that says whether a model takes images."""
    return f"images {model}"


def _name_context_field(model: str) -> str:
    """Return the name of the field for the size of a model's context."""
    return f"context {model}"


def _name_display_name_field(model: str) -> str:
    """Return the name of the field for a model's display name."""
    return f"name {model}"
