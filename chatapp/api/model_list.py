"""Writes the responses to `GET /models` and `GET /models/NAME`."""

from chatapp.api.models import find_model, name_models, open_offers
from chatapp.api.responses import ApiError, ApiResponse
from chatapp.server_interface import Send


class ModelsResponse(ApiResponse):
    """The models that a person may use."""

    def __init__(self, person: int) -> None:
        super().__init__(content_type="application/json")
        self._person = person

    async def write_to(self, send: Send) -> None:
        names = name_models(await open_offers(self._person))
        await self.send_json(
            send, {"object": "list", "data": [_describe_model(*entry) for entry in names]}
        )


class ModelResponse(ApiResponse):
    """One of these models, by either of its names."""

    def __init__(self, person: int, name: str) -> None:
        super().__init__(content_type="application/json")
        self._person = person
        self._name = name

    async def write_to(self, send: Send) -> None:
        try:
            model = await find_model(self._name, self._person)
        except ApiError as error:
            await self.send_error(send, error)
            return
        offers = await open_offers(self._person)
        providers = {offer.upstream.pk: offer.upstream.name for offer in offers}
        await self.send_json(send, _describe_model(self._name, providers.get(model.upstream, "")))


def _describe_model(name: str, provider: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": provider}
