"""Parse the body of `GET /models` into models. Raises `UpstreamFailed` if it is not a list.

In OpenAI's own list only the `id` is useful. Others add fields under various names:
OpenRouter `name`, `context_length`, `architecture`, `supported_parameters`, `reasoning`; vLLM
`max_model_len`; llama.cpp `meta.n_ctx`; LiteLLM `max_input_tokens`, `supports_vision`,
`supports_web_search`, `supports_max_reasoning_effort`; Mistral `max_context_length`,
`capabilities`; Groq and Vercel `context_window`, `tags`; Together and Anthropic `display_name`;
Fireworks `supports_tools`. A model takes no images if its input modalities are listed without
images (OpenRouter), or if its flag for them is false (Mistral, LiteLLM). Every list is searched for
all of these fields.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Self

import msgspec

from chatapp.upstream.wire.errors.upstream_error import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    clean,
)
from chatapp.upstream.wire.model_prices import ListedPrice, price_in
from chatapp.upstream.wire.requests.spellings import EFFORTS

MAX_MODELS = 10_000
MAX_MODEL_LENGTH = 200  # of an id; a longer one would be asked for by a part of it
_MAX_ID_LENGTH = 2000
_MAX_NAME_LENGTH = 100
_MAX_WORDS = 200  # in one list of a model's capabilities
_MAX_CONTEXT = 10**9

_NAMES = ("display_name", "name")
_CONTEXTS = (
    "context_length",
    "context_window",
    "max_context_length",
    "max_context_window_tokens",
    "max_model_len",
    "max_input_tokens",
    "n_ctx",
    "n_ctx_train",
)
# Objects within a model's entry that may also hold these fields or its capabilities.
_PARTS = ("architecture", "capabilities", "limits", "meta", "metadata", "model_info", "supports")
_WORD_LISTS = (
    "capabilities",
    "features",
    "input_modalities",
    "modality",
    "supported_features",
    "supported_parameters",
    "tags",
)
_MODALITIES = ("input_modalities", "modality")


class Ability(Enum):
    """A capability of a model beyond text; the values are shown to people."""

    VISION = "vision"
    TOOLS = "tools"
    REASONING = "reasoning"
    WEB_SEARCH = "web search"


_ABILITIES: Mapping[str, Ability] = MappingProxyType(
    {
        "image": Ability.VISION,
        "image_input": Ability.VISION,
        "multimodal": Ability.VISION,
        "vision": Ability.VISION,
        "function_call": Ability.TOOLS,
        "function_calling": Ability.TOOLS,
        "tool_calling": Ability.TOOLS,
        "tool_calls": Ability.TOOLS,
        "tool_use": Ability.TOOLS,
        "tools": Ability.TOOLS,
        "include_reasoning": Ability.REASONING,
        "reasoning": Ability.REASONING,
        "reasoning_effort": Ability.REASONING,
        "thinking": Ability.REASONING,
        "web_search": Ability.WEB_SEARCH,
        "web_search_options": Ability.WEB_SEARCH,
    }
)
# Models that reason. Most gateways list only their ids:
# https://platform.openai.com/docs/guides/reasoning
_REASONING_FAMILIES = re.compile(r"(^|/)(o\d(-|$)|gpt-oss|gpt-[5-9](?!.*-chat))")
_COMMON_EFFORTS = ("low", "medium", "high")  # which all models with an effort take


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as described in the list."""

    id: str
    name: str = ""  # display name; "" if it has only an id
    context_tokens: int | None = None
    abilities: frozenset[Ability] = frozenset()
    price: ListedPrice | None = None
    description: str = ""  # an administrator's
    takes_images: bool | None = None  # None if nothing is known
    efforts: tuple[str, ...] = ()  # of reasoning, from the least

    def with_images(self, takes_images: bool) -> Self:
        """Return the model with what is known better than from the list."""
        vision = frozenset({Ability.VISION})
        abilities = self.abilities | vision if takes_images else self.abilities - vision
        return replace(self, takes_images=takes_images, abilities=abilities)


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A part of the list: Anthropic's has 20 models."""

    models: list[ListedModel]
    next_after: str = ""  # the id that the next page begins after; "" if this is the last page
    too_long: tuple[str, ...] = ()  # the beginnings of ids that can't be stored


def model_page(body: bytes) -> ModelPage:
    """Return the models in the upstream's order, without duplicate or missing ids.

    The list may be the whole body or its `data`, which may be null.
    """
    try:
        listing = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise _not_a_list(str(error)) from error
    about: dict[str, object] = {}
    if isinstance(listing, dict):
        if "data" not in listing:
            raise _not_a_list("it has no `data`")
        about, listing = listing, listing["data"] or []
    if not isinstance(listing, list):
        raise _not_a_list("`data` is not a list")
    models: dict[str, ListedModel] = {}
    too_long: list[str] = []
    for entry in listing[:MAX_MODELS]:
        if model := _read_model(entry):
            if len(model.id) > MAX_MODEL_LENGTH:
                too_long.append(clean(model.id, _MAX_NAME_LENGTH))
            else:
                models.setdefault(model.id, model)
    return ModelPage(list(models.values()), _next_after(about, listing), tuple(too_long))


def _next_after(about: Mapping[str, object], listing: list[object]) -> str:
    if about.get("has_more") is not True or not listing:
        return ""
    last = listing[-1]
    candidates = (about.get("last_id"), last.get("id") if isinstance(last, dict) else last)
    return next((candidate for candidate in candidates if isinstance(candidate, str)), "")


def build_unlisted_model(model_id: str) -> ListedModel:
    """Return what is known of a model that no list describes."""
    return _read_model(model_id) or ListedModel(model_id)


def _not_a_list(why: str) -> UpstreamFailed:
    message = clean(f"not a list of models: {why}")
    return UpstreamFailed(UpstreamError(ErrorKind.MALFORMED, message))


def _read_model(entry: object) -> ListedModel | None:
    fields = entry if isinstance(entry, dict) else {"id": entry}
    model_id = _text(fields.get("id"), _MAX_ID_LENGTH)
    if not model_id:
        return None
    parts = [fields, *_find_parts(fields)]
    names = (_text(fields.get(key), _MAX_NAME_LENGTH) for key in _NAMES)
    name = next((name for name in names if name and name != model_id), "")
    contexts = (_count(part.get(key)) for key in _CONTEXTS for part in parts)
    context = next((count for count in contexts if count), None)
    abilities = frozenset(_abilities_in(parts))
    if not abilities and _REASONING_FAMILIES.search(model_id):
        abilities = frozenset({Ability.REASONING})
    takes_images = True if Ability.VISION in abilities else _says_no_images(parts)
    price = price_in(fields)
    efforts = tuple(_efforts_in(fields, parts)) if Ability.REASONING in abilities else ()
    return ListedModel(
        model_id, name, context, abilities, price, takes_images=takes_images, efforts=efforts
    )


def _text(value: object, limit: int) -> str:
    return clean(value.strip(), limit) if isinstance(value, str) else ""


def _find_parts(fields: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield the nested objects to search, at most two levels down."""
    for key in _PARTS:
        if isinstance(part := fields.get(key), dict):
            yield part
            yield from (inner for key in _PARTS if isinstance(inner := part.get(key), dict))


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        count = int(value)
    except (ValueError, OverflowError):
        return None
    return count if 0 < count <= _MAX_CONTEXT else None


def _abilities_in(parts: list[Mapping[str, object]]) -> Iterator[Ability]:
    for part in parts:
        for word in _words_in(part):
            if ability := _ABILITIES.get(word):
                yield ability


def _efforts_in(fields: Mapping[str, object], parts: list[Mapping[str, object]]) -> Iterator[str]:
    """Yield the efforts that a model takes: OpenRouter lists all, LiteLLM has flags for some."""
    reasoning = fields.get("reasoning")
    listed = reasoning.get("supported_efforts") if isinstance(reasoning, dict) else None
    flags = {word for part in parts for word in _words_in(part)}
    for effort in EFFORTS:
        if isinstance(listed, list):
            is_taken = effort in listed
        else:
            is_taken = effort in _COMMON_EFFORTS or f"{effort}_reasoning_effort" in flags
        if is_taken:
            yield effort


def _says_no_images(parts: list[Mapping[str, object]]) -> bool | None:
    """Return False if a model without vision is described as such, None if nothing is said."""
    flags = (_word(key).removeprefix("supports_") for part in parts for key in _false_in(part))
    says_no = any(_ABILITIES.get(flag) is Ability.VISION for flag in flags)
    return False if says_no or any(map(_lists_modalities, parts)) else None


def _false_in(part: Mapping[str, object]) -> Iterator[str]:
    return (key for key, value in part.items() if value is False)


def _lists_modalities(part: Mapping[str, object]) -> bool:
    """Whether it lists the modalities of its input, which always include text."""
    words = _words_in({key: part.get(key) for key in _MODALITIES})
    return "text" in words


def _words_in(part: Mapping[str, object]) -> Iterator[str]:
    """Yield words of lists and names of true flags: `"tags": […]`, `"supports_vision": true`."""
    for key in _WORD_LISTS:
        listed = part.get(key)
        if isinstance(listed, str):  # OpenRouter's form: text+image->text
            listed = re.split(r"\W+", listed[:_MAX_WORDS].partition("->")[0])
        if isinstance(listed, list):
            yield from (_word(word) for word in listed[:_MAX_WORDS] if isinstance(word, str))
    flags = (key for key, value in part.items() if value is True)
    yield from (_word(key).removeprefix("supports_") for key in flags)


def _word(text: str) -> str:
    return text[:_MAX_NAME_LENGTH].lower().replace("-", "_")
