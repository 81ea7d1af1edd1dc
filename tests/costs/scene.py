"""An app in use whose calls are counted, and a person's tab and browser in it."""

import json
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.costs.table import Cost
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role, usage
from tests.support.live import Person, Server, Site
from tests.support.page import Page
from tests.support.visitor import open_socket, visit

# In one piece, so that the number of reads does not depend on the machine.
ANSWER = b"".join((role(), delta("Yes."), finish(), usage(), done()))
IMPORTED = "from tests.costs.installation import attach, furnish\n"


class CountedServer(Server):
    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.costs.counted", "serve"]

    def count_calls(self) -> Counter[str]:
        """Return how often each function was called so far, once the server is idle."""
        received = b""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"{self.data_dir}/calls")
            while part := connection.recv(2**20):
                received += part
        return Counter(json.loads(received))


@dataclass
class Scene:
    """`made` names what `installation.furnish` has made; an action sets `cost`."""

    server: CountedServer
    upstream: FakeUpstream
    alice: Person
    olive: Person
    made: dict[str, Any] = field(default_factory=dict)
    cost: Cost = field(default_factory=lambda: Cost.of(Counter(), 0))

    def run(self, statement: str) -> str:
        """Run a statement about the installation; return what it printed."""
        return self.server.run(IMPORTED + statement)

    @contextmanager
    def counting(self, received: list[int]) -> Iterator[None]:
        """Count what the block costs; it appends the bytes that it received."""
        before = self.server.count_calls()
        yield
        after = self.server.count_calls()
        after.subtract(before)
        self.cost = Cost.of(+after, sum(received))

    async def turn(self, path: str = "/", **fields: str) -> None:
        """Count one turn, from the prompt to the end of the reply."""
        async with visit(self.server, self.alice, path) as tab:
            received: list[int] = []
            replies = len(tab.replies)
            with self.counting(received):
                await tab.send("Why is the sky blue?", **fields)
                await tab.until(lambda: len(tab.replies) > replies and tab.ending == "complete")
                received += [len(frame.encode()) for frame in tab.frames]

    async def connect(self, path: str = "/") -> None:
        """Count a tab that connects."""
        received: list[int] = []
        with self.server.visit(self.alice) as client:
            page = Page(client.get(path).text)
        with self.counting(received):
            async with open_socket(self.server, self.alice, page):
                pass

    async def get(self, path: str, person: Person | None = None) -> None:
        """Count one page."""
        received: list[int] = []
        with self.server.visit(person or self.alice) as client, self.counting(received):
            received.append(_measure_length(client.get(path)))

    async def complete(self) -> None:
        """Count one request to the API."""
        question = {"role": "user", "content": "Why is the sky blue?"}
        headers = {"Authorization": f"Bearer {self.made['secret']}"}
        received: list[int] = []
        with self.server.visit() as client:
            model = client.get("/api/v1/models", headers=headers).json()["data"][0]["id"]
            body = {"model": model, "messages": [question]}
            with self.counting(received):
                answer = client.post("/api/v1/chat/completions", json=body, headers=headers)
                received.append(_measure_length(answer))


def _measure_length(response: httpx.Response) -> int:
    assert response.status_code == 200, (response.url, response.status_code)
    return len(response.content)


@contextmanager
def open_scene(site: Site) -> Iterator[Scene]:
    with FakeUpstream() as upstream:
        upstream.default = [ANSWER]
        settings = {"OPENAI_BASE_URL": upstream.base_url, "OPENAI_API_KEY": "sk-costs"}
        alice = site.person()
        with CountedServer(site.copy() | settings) as server:
            scene = Scene(server, upstream, alice, site.olive)
            scene.made = json.loads(scene.run(f"print(furnish({alice.username!r}))"))
            yield scene
