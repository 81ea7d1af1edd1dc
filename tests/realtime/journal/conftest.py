"""A process's journal in a folder of the test, and a reply that it writes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import Settings

from chatapp.models import Conversation, Message, Upstream, User
from chatapp.realtime.journal import Journal, Segment
from chatapp.realtime.journal.writing import folder
from chatapp.upstream.wire.events import Event
from chatapp.upstream.wire.requests.estimates import PromptSize
from chatapp.upstream.wire.requests.history import History

MODEL = "google/gemini-3-flash"


@dataclass
class Writing:
    """A reply whose process can die."""

    message: Message
    journal: Journal
    segment: Segment

    def send_request(self, choices: int = 1) -> None:
        self.segment.ask(PromptSize.of(History.of([{"role": "user", "content": "Why?"}])), choices)

    def append_events(self, *events: Event) -> None:
        self.segment.append(events)

    def die(self) -> None:
        """Release what the operating system takes from a killed process."""
        self.segment.close()
        self.journal.close()

    @property
    def file(self) -> Path:
        [file] = self.folder.iterdir()
        return file

    @property
    def folder(self) -> Path:
        return folder() / self.journal.process.hex

    def load_message(self) -> Message:
        return Message.objects.select_related("usage").get(pk=self.message.pk)


@pytest.fixture
def data_dir(tmp_path: Path, settings: Settings) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def begin(db: None, data_dir: Path) -> Iterator[Callable[[], Writing]]:
    """Return a function that starts a reply in a process of its own."""
    writings: list[Writing] = []
    user = User.objects.create_user("carol")
    gateway = Upstream.objects.create(name="Gateway", base_url="http://gw/v1")

    def begin() -> Writing:
        conversation = Conversation.objects.create(user=user, title="Sky")
        journal = Journal(uuid4())
        _, reply = conversation.ask(uuid4(), "Why?", None, gateway, MODEL, journal.process)
        writings.append(Writing(reply, journal, journal.open(reply.pk)))
        return writings[-1]

    yield begin
    for started_writing in writings:
        started_writing.die()


@pytest.fixture
def writing(begin: Callable[[], Writing]) -> Writing:
    return begin()
