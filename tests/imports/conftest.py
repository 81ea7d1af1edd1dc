"""Files of imported chats are read in the test's own process."""

import pytest

from chatapp import documents
from tests.support.reading import read_here


@pytest.fixture(autouse=True)
def reads_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "read", read_here)
