"""The names of models in the API: PROVIDER/MODEL, or just MODEL if only one provider has it."""

from collections import Counter

from channels.db import database_sync_to_async

from chatapp.api.responses import ApiError
from chatapp.catalogue import Offer, filter_permitted_offers
from chatapp.models import ModelChoice, load_model_access
from chatapp.realtime.worker import worker

UNKNOWN = "There is no model “{}” that you may use. GET /api/v1/models lists yours."
AMBIGUOUS = "Several providers have this model. Name one of: {}."
MAX_LENGTH = 200  # of a model's id in the database
MAX_QUOTED_LENGTH = 100  # characters of a name that a script sent


async def open_offers(person: int, wait_for_all: bool = False) -> list[Offer]:
    """Return the models that this person may use, by provider."""
    permissions = await database_sync_to_async(load_model_access)(person)
    return filter_permitted_offers(await worker().catalogue.offers(wait_for_all), permissions)


def full_name(offer: Offer, model: str) -> str:
    return f"{offer.upstream.name}/{model}"


def name_models(offers: list[Offer]) -> list[tuple[str, str]]:
    """Return the shortest unambiguous name of each model, with that of its provider."""
    counts = Counter(model.id for offer in offers for model in offer.models)
    counts.update(full_name(offer, model.id) for offer in offers for model in offer.models)
    return [
        (model.id if counts[model.id] == 1 else full_name(offer, model.id), offer.upstream.name)
        for offer in offers
        for model in offer.models
    ]


async def find_model(name: str, person: int) -> ModelChoice:
    """Return the model with this name. Raises `ApiError`."""
    for wait_for_all in (False, True):
        offers = await open_offers(person, wait_for_all)
        matches = _find_models(offers, name)
        if len(matches) > 1:
            full_names = ", ".join(full_name(offer, model) for offer, model in matches)
            raise ApiError(400, AMBIGUOUS.format(full_names), "ambiguous_model", "model")
        if matches:
            [(offer, model)] = matches
            return ModelChoice(offer.upstream.pk, model)
    return await _find_unlisted_model(offers, name)


def _find_models(offers: list[Offer], name: str) -> list[tuple[Offer, str]]:
    listed = [(offer, model.id) for offer in offers for model in offer.models]
    full = [(offer, model) for offer, model in listed if full_name(offer, model) == name]
    return full or [(offer, model) for offer, model in listed if model == name]


async def _find_unlisted_model(offers: list[Offer], name: str) -> ModelChoice:
    """Return a model of a provider whose list is not known, as the page would ask it."""
    for offer in offers:
        model = name.removeprefix(f"{offer.upstream.name}/")
        is_named = model != name and not offer.models
        is_storable = len(model) <= MAX_LENGTH and "\0" not in model
        if (
            is_named
            and is_storable
            and await worker().catalogue.is_offered(offer.upstream.pk, model)
        ):
            return ModelChoice(offer.upstream.pk, model)
    raise ApiError(404, UNKNOWN.format(name[:MAX_QUOTED_LENGTH]), "model_not_found", "model")
