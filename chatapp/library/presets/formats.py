"""Presets in JSON files. No queries.

A preset names its model with the upstream, and its tools by the names of their servers, since
primary keys mean nothing to another installation. What it doesn't offer is left to the person.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import QueryDict

from chatapp.catalogue import Offer
from chatapp.library.formats import MAX_SHOWN_LENGTH, entries_in, storable
from chatapp.library.presets.forms import PresetForm
from chatapp.models import Preset, User
from chatapp.models.library.presets import CLOCK, Icon, PresetContent
from chatapp.parameters.values import clean_parameters

TEXTS = ("name", "icon", "description", "system_prompt")


def export_preset(preset: Preset, tools: Mapping[int, str]) -> dict[str, Any]:
    """Return a preset as an export has it. `tools` has the names of servers."""
    return describe_content(preset) | {"tools": _list_tool_names(preset, tools)}


def describe_content(preset: PresetContent) -> dict[str, Any]:
    """Return the content with the name of the upstream."""
    return {
        **{name: getattr(preset, name) for name in TEXTS},
        "model": preset.model,
        "upstream": preset.upstream.name if preset.upstream else "",
        "parameters": preset.parameters,
        "tools": preset.tools,
        "suggestions": preset.suggestions,
        "takes_memory": preset.takes_memory,
        "files": [file.name for file in preset.files],
    }


def _list_tool_names(preset: Preset, tools: Mapping[int, str]) -> list[str] | None:
    if preset.tools is None:
        return None
    return [
        CLOCK if tool == CLOCK else tools[tool] for tool in preset.tools if tool in {CLOCK, *tools}
    ]


def presets_in(
    data: bytes, user: User, offers: Sequence[Offer], tools: Mapping[int, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the contents of the presets in a file, checked like those that are typed, and why
    others, or parts of them, are left out. Raises `Unreadable`."""
    contents: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, entry in enumerate(entries_in(data, "presets"), 1):
        fields = entry if isinstance(entry, dict) else {}
        label = f"“{storable(fields.get('name'))[:MAX_SHOWN_LENGTH] or number}”"
        model = _model(fields, offers)
        form = PresetForm(_build_post(fields, model, tools), user, offers, tools)
        try:
            contents.append(_content(form, fields.get("parameters", {})))
        except ValueError as error:
            problems.append(f"{label} was left out: {error}")
            continue
        if fields.get("model") and not model:
            problems.append(f"{label} has no model now, since its own isn't offered here.")
        if fields.get("files"):
            problems.append(f"{label} came without its files. Attach them to it.")
    return contents, problems


def _content(form: PresetForm, parameters: object) -> dict[str, Any]:
    """Return the content of a preset. Raises `ValueError` with a sentence if it isn't valid."""
    checked_parameters = clean_parameters(parameters)
    if not form.is_valid():
        problems: list[Any] = [error for errors in form.errors.values() for error in errors]
        raise ValueError(problems[0])
    return form.content | {"parameters": checked_parameters}


def _model(fields: Mapping[str, Any], offers: Sequence[Offer]) -> str:
    """Return the model as the form has it, "" if it isn't offered."""
    upstream, model = storable(fields.get("upstream")), storable(fields.get("model"))
    candidates = [offer for offer in offers if offer.upstream.name == upstream] or offers
    choices = (f"{offer.upstream.pk}/{model}" for offer in candidates if offer.has(model))
    return next(choices, "")


def _build_post(fields: Mapping[str, Any], model: str, tools: Mapping[int, str]) -> QueryDict:
    """Return what a person would post for this."""
    names, suggestions = fields.get("tools"), fields.get("suggestions")
    posted = QueryDict(mutable=True)
    posted.update({name: storable(fields.get(name)) for name in TEXTS})
    if posted["icon"] not in Icon.values:
        posted["icon"] = Icon.SLIDERS
    posted["model"] = model
    posted["offers_all"] = "no" if isinstance(names, list) else "yes"
    keys = {CLOCK: CLOCK, **{name: str(pk) for pk, name in tools.items()}}
    tool_names = names if isinstance(names, list) else []
    posted.setlist(
        "tools", [keys[tool_name] for tool_name in map(storable, tool_names) if tool_name in keys]
    )
    lines = suggestions if isinstance(suggestions, list) else []
    posted["suggestions"] = "\n".join(" ".join(storable(line).split()) for line in lines)
    if fields.get("takes_memory", True) is True:
        posted["takes_memory"] = "on"
    return posted
