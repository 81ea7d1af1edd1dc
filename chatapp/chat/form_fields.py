"""Fields of the forms that the chat's pages send: models and files, by their ids."""

from uuid import UUID

from django import forms
from django.http import HttpRequest

from chatapp.db.primary_keys import parse_pk
from chatapp.models import ModelChoice
from chatapp.models.platform.upstreams import NOT_OFFERED
from chatapp.parameters.kinds import MAX_NAME

OUT_OF_DATE = "This page is out of date. Reload it."
MAX_WITHOUT = 50  # parameters that one retry leaves out
MAX_KEYS = 1000
MAX_AT_ONCE = 4  # models that reply to one prompt side by side


class ModelField(forms.CharField):
    """An upstream's primary key and one of its models, in the catalogue's form: `1/gpt-4o`."""

    def to_python(self, value: str | None) -> ModelChoice | None:  # type: ignore[override]
        upstream_id, _, model = str(value or "").partition("/")
        upstream = parse_pk(upstream_id)
        if upstream and 0 < len(model) <= 200 and model.isprintable():
            return ModelChoice(upstream, model)
        return None

    def validate(self, value: object) -> None:
        if self.required and value is None:
            raise forms.ValidationError("Choose a model first.")

    def run_validators(self, value: object) -> None:
        """Do nothing: CharField's validators are for text."""


class ModelsField(forms.CharField):
    """Several models, one per line, without duplicates."""

    _model_field = ModelField()

    def clean(self, value: str | None) -> list[ModelChoice]:
        parsed_models = dict.fromkeys(
            map(self._model_field.to_python, str(value or "").splitlines())
        )
        chosen = [model for model in parsed_models if model]
        if len(chosen) != len(parsed_models):
            raise forms.ValidationError(NOT_OFFERED)
        if len(chosen) >= MAX_AT_ONCE:
            raise forms.ValidationError(f"Choose {MAX_AT_ONCE} models at most.")
        return chosen


def models_in(request: HttpRequest) -> list[ModelChoice]:
    """Return the models that the page's composer will ask; what can't be used is left out."""
    query = request.POST or request.GET
    values = [query.get("model", ""), *query.get("others", "").splitlines()]
    parsed_models = dict.fromkeys(map(ModelField(required=False).to_python, values[:MAX_AT_ONCE]))
    return [model for model in parsed_models if model]


class FilesField(forms.CharField):
    """The ids of attachments, one per line, without duplicates."""

    def clean(self, value: str | None) -> tuple[UUID, ...]:
        lines = str(value or "").split()
        try:
            return tuple(dict.fromkeys(map(UUID, lines)))
        except ValueError:
            raise forms.ValidationError(OUT_OF_DATE) from None


class KeysField(forms.CharField):
    """Integer primary keys, separated by spaces."""

    def clean(self, value: str | None) -> tuple[int, ...]:
        keys = tuple(dict.fromkeys(map(parse_pk, str(value or "").split())))
        if len(keys) > MAX_KEYS or 0 in keys:
            raise forms.ValidationError(OUT_OF_DATE)
        return keys


class NamesField(forms.CharField):
    """The names of parameters, separated by spaces."""

    def clean(self, value: str | None) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(str(value or "").split()))
        if len(names) > MAX_WITHOUT or any(len(name) > MAX_NAME for name in names):
            raise forms.ValidationError(OUT_OF_DATE)
        return names
