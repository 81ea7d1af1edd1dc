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
from chatapp.upstream.wire.chat_parameters import checked

TEXTS = ("name", "icon", "description", "system_prompt")


def exported(preset: Preset, tools: Mapping[int, str]) -> dict[str, Any]:
    """Return a preset as an export has it. `tools` has the names of servers."""
    return described(preset) | {"tools": _named(preset, tools)}


def described(preset: PresetContent) -> dict[str, Any]:
    """Return the content with the name of the upstream."""
    return {
        **{name: getattr(preset, name) for name in TEXTS},
        "model": preset.model,
        "upstream": preset.upstream.name if preset.upstream else "",
        "parameters": preset.parameters,
        "tools": preset.tools,
        "suggestions": preset.suggestions,
        "takes_memory": preset.takes_memory,
        "files": [one.name for one in preset.files],
    }


def _named(preset: Preset, tools: Mapping[int, str]) -> list[str] | None:
    if preset.tools is None:
        return None
    return [CLOCK if one == CLOCK else tools[one] for one in preset.tools if one in {CLOCK, *tools}]


def presets_in(
    data: bytes, user: User, offers: Sequence[Offer], tools: Mapping[int, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the contents of the presets in a file, checked like those that are typed, and why
    others, or parts of them, are left out. Raises `Unreadable`."""
    contents: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, entry in enumerate(entries_in(data, "presets"), 1):
        known = entry if isinstance(entry, dict) else {}
        label = f"“{storable(known.get('name'))[:MAX_SHOWN_LENGTH] or number}”"
        model = _model(known, offers)
        form = PresetForm(_as_posted(known, model, tools), user, offers, tools)
        try:
            contents.append(_content(form, known.get("parameters", {})))
        except ValueError as error:
            problems.append(f"{label} was left out: {error}")
            continue
        if known.get("model") and not model:
            problems.append(f"{label} has no model now, since its own isn't offered here.")
        if known.get("files"):
            problems.append(f"{label} came without its files. Attach them to it.")
    return contents, problems


def _content(form: PresetForm, parameters: object) -> dict[str, Any]:
    """Return the content of a preset. Raises `ValueError` with a sentence if it isn't valid."""
    checked_parameters = checked(parameters)
    if not form.is_valid():
        problems: list[Any] = [error for errors in form.errors.values() for error in errors]
        raise ValueError(problems[0])
    return form.content | {"parameters": checked_parameters}


def _model(known: Mapping[str, Any], offers: Sequence[Offer]) -> str:
    """Return the model as the form has it, "" if it isn't offered."""
    upstream, model = storable(known.get("upstream")), storable(known.get("model"))
    fitting = [one for one in offers if one.upstream.name == upstream] or offers
    found = (f"{one.upstream.pk}/{model}" for one in fitting if one.has(model))
    return next(found, "")


def _as_posted(known: Mapping[str, Any], model: str, tools: Mapping[int, str]) -> QueryDict:
    """Return what a person would post for this."""
    names, suggestions = known.get("tools"), known.get("suggestions")
    posted = QueryDict(mutable=True)
    posted.update({name: storable(known.get(name)) for name in TEXTS})
    if posted["icon"] not in Icon.values:
        posted["icon"] = Icon.SLIDERS
    posted["model"] = model
    posted["offers_all"] = "no" if isinstance(names, list) else "yes"
    keys = {CLOCK: CLOCK, **{name: str(pk) for pk, name in tools.items()}}
    wanted = names if isinstance(names, list) else []
    posted.setlist("tools", [keys[one] for one in map(storable, wanted) if one in keys])
    lines = suggestions if isinstance(suggestions, list) else []
    posted["suggestions"] = "\n".join(" ".join(storable(line).split()) for line in lines)
    if known.get("takes_memory", True) is True:
        posted["takes_memory"] = "on"
    return posted
