"""The form of a preset. Each error is a sentence that says the limit or what to do."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from chatapp.catalogue import Offer
from chatapp.db.primary_keys import parse_pk
from chatapp.library.forms import ItemForm
from chatapp.library.presets.files import FilesForm
from chatapp.library.presets.parameter_form import ParameterForm
from chatapp.library.presets.words import CLOCK_NAME, model_in_words
from chatapp.models import ModelChoice, Preset, Refused, Upstream, User
from chatapp.models.library.presets import (
    CLOCK,
    MAX_DESCRIPTION_LENGTH,
    MAX_NAME_LENGTH,
    MAX_SUGGESTION_LENGTH,
    MAX_SUGGESTIONS,
    Icon,
)
from chatapp.text.multiline import MultilineField
from chatapp.text.one_line import OneLineField
from chatapp.upstream.wire.model_list import ListedModel

MAX_MODEL_LENGTH = 200


class PresetForm(ItemForm, ParameterForm):
    name = OneLineField(MAX_NAME_LENGTH, "A name")
    icon = forms.ChoiceField(
        choices=Icon,
        error_messages=dict.fromkeys(["required", "invalid_choice"], "Choose an icon."),
    )
    description = forms.CharField(
        required=False,
        max_length=MAX_DESCRIPTION_LENGTH,
        error_messages={
            "max_length": f"A description has at most {MAX_DESCRIPTION_LENGTH} characters."
        },
    )
    model = forms.CharField(required=False, strip=False)
    offers_all = forms.ChoiceField(
        choices=[("yes", "All tools that the model is offered"), ("no", "Only these")],
        required=False,
    )
    tools = forms.MultipleChoiceField(required=False)
    suggestions = MultilineField(required=False)
    takes_memory = forms.BooleanField(required=False)

    def __init__(
        self,
        data: Any,
        user: User,
        offers: Sequence[Offer],
        tools: Mapping[int, str],
        preset: Preset | None = None,
    ) -> None:
        """`offers` and `tools`, the names of tool servers, are what the person may use."""
        shown_preset = preset or Preset()
        super().__init__(data, initial=_build_initial(shown_preset))
        self.user, self.preset, self.offers = user, preset, offers
        self.attached = FilesForm(data, user, preset)
        self._tools: dict[str, int | str] = {CLOCK: CLOCK, **{str(pk): pk for pk in tools}}
        self._tools_before = shown_preset.tools or []
        # Those that this person may not use, or that were deleted, are kept as they are.
        self.other_tools = [tool for tool in self._tools_before if tool not in self._tools.values()]
        field = self.fields["tools"]
        assert isinstance(field, forms.MultipleChoiceField)
        names = [(str(pk), name) for pk, name in tools.items()]
        field.choices = [(CLOCK, CLOCK_NAME), *names]

    def clean_description(self) -> str:
        return " ".join(str(self.cleaned_data["description"]).split())

    def clean_model(self) -> tuple[int | None, str]:
        """Accept a model that the person may use, or the one that the preset has.

        That may be no longer offered, or have lost its upstream.
        """
        value = self.cleaned_data["model"]
        if self.preset and value == _value(self.preset):
            return self.preset.upstream_id, self.preset.model
        if not value:
            return None, ""
        upstream_id, _, model = value.partition("/")
        upstream = parse_pk(upstream_id)
        if not upstream or not model.isprintable() or not 0 < len(model) <= MAX_MODEL_LENGTH:
            raise forms.ValidationError("Choose one of these models.")
        try:
            Upstream.get_for_choice(ModelChoice(upstream, model), self.user.pk)
        except Refused as refused:
            raise forms.ValidationError(str(refused)) from None
        return upstream, model

    def clean_suggestions(self) -> list[str]:
        lines = [" ".join(line.split()) for line in self.cleaned_data["suggestions"].split("\n")]
        suggestions = [line for line in lines if line]
        if len(suggestions) > MAX_SUGGESTIONS:
            raise forms.ValidationError(f"There can be {MAX_SUGGESTIONS} suggestions at most.")
        if any(len(line) > MAX_SUGGESTION_LENGTH for line in suggestions):
            raise forms.ValidationError(
                f"A suggestion has at most {MAX_SUGGESTION_LENGTH} characters."
            )
        return suggestions

    def clean(self) -> None:
        super().clean()
        for errors in self.attached.errors.values():
            self.add_error(None, [str(error) for error in errors])

    def store(self) -> dict[str, Any]:
        return self.content | {"file_set_id": self.attached.store()}

    @property
    def content(self) -> dict[str, Any]:
        clean = self.cleaned_data
        upstream, model = clean["model"]
        return {
            **{name: clean[name] for name in ("name", "icon", "description", "system_prompt")},
            "upstream_id": upstream,
            "model": model,
            "parameters": self.parameters,
            "tools": self._chosen_tools if clean["offers_all"] == "no" else None,
            "suggestions": clean["suggestions"],
            "takes_memory": clean["takes_memory"],
        }

    @property
    def _chosen_tools(self) -> list[int | str]:
        """The tools, those that the preset has already in their order."""
        chosen = {*(self._tools[tool] for tool in self.cleaned_data["tools"]), *self.other_tools}
        return sorted(chosen, key=[*self._tools_before, *self._tools.values()].index)

    @property
    def models(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The choices of a model by the names of the upstreams."""
        choices_by_upstream = [
            (offer.upstream.name, [(value, _name(model)) for value, model in offer.choices])
            for offer in self.offers
            if offer.models
        ]
        offered = {value for _, choices in choices_by_upstream for value, _ in choices}
        if self.preset and (before := _value(self.preset)) and before not in offered:
            choices_by_upstream.insert(0, ("", [(before, model_in_words(self.preset))]))
        return choices_by_upstream


def _build_initial(preset: Preset) -> dict[str, object]:
    return ParameterForm.build_initial(preset.system_prompt, preset.parameters) | {
        **{name: getattr(preset, name) for name in ("name", "icon", "description", "takes_memory")},
        "model": _value(preset),
        "offers_all": "yes" if preset.tools is None else "no",
        "tools": [str(tool) for tool in preset.tools or ()],
        "suggestions": "\n".join(preset.suggestions),
        "opened": preset.version,
    }


def _value(preset: Preset) -> str:
    """Return the preset's model as the form has it; without an upstream if that was deleted."""
    return f"{preset.upstream_id or ''}/{preset.model}" if preset.model else ""


def _name(model: ListedModel) -> str:
    return model.name or model.id
