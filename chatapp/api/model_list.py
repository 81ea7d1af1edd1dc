"""Writes the response to `GET /models`."""

from chatapp.api.models import names_of, open_offers
from chatapp.api.responses import LoopResponse, Send


class ModelsResponse(LoopResponse):
    """The models that a person may use."""

    def __init__(self, person: int) -> None:
        super().__init__(content_type="application/json")
        self._person = person

    async def write_to(self, send: Send) -> None:
        models = [
            {"id": name, "object": "model", "created": 0, "owned_by": provider}
            for name, provider in names_of(await open_offers(self._person))
        ]
        await self.send_json(send, {"object": "list", "data": models})
