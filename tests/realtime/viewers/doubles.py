"""Viewers without a browser: one that records its frames, one that applies them to a page."""

from uuid import UUID

from tests.support.page import Page


class Recorder:
    """A viewer that records what it is sent; Alice's by default."""

    def __init__(self, user_id: int = 1, session_key: str = "") -> None:
        self.user_id = user_id
        self.session_key = session_key
        self.head: UUID | None = None
        self.shows_end = True
        self.frames: list[str] = []
        self.caught_up: list[UUID] = []
        self.redrawn: list[UUID] = []
        self.closed: int | None = None

    def write(self, frame: str) -> None:
        self.frames.append(frame)

    async def show(self, frame: str) -> None:
        self.write(frame)

    async def catch_up(self, conversation: UUID, *, redraw: bool = False) -> None:
        (self.redrawn if redraw else self.caught_up).append(conversation)

    async def close(self, code: int) -> None:
        self.closed = code


class Reader(Recorder):
    """A recorder that also swaps frames into a page, as a browser does."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.page = Page(html)

    def write(self, frame: str) -> None:
        super().write(frame)
        self.page.swap(frame)
