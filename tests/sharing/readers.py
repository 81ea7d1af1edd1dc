"""A reader's tab of a live shared chat."""

from typing import Any

from django.test import AsyncClient, Client

from tests.support.tab import Tab


class ReaderTab(Tab):
    def __init__(
        self, client: Client | AsyncClient, token: str, address: str = "", **query: Any
    ) -> None:
        self.path = f"/ws/s/{token}/"
        super().__init__(client, **query)
        if address:
            self._socket.scope["client"] = [address, 50000]

    @property
    def received_text(self) -> str:
        return "".join(self.frames)
