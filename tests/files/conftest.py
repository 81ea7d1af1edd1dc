"""Files are read at once, in the test's own process, thread and transaction."""

from functools import partial

import pytest

from chatapp import documents
from chatapp.reading import contents
from tests.support.reading import draw_pages_here, read_here


class AtOnce:
    def submit(self, person: int, size: int, job: "partial[None]") -> bool:
        [read_it] = job.args
        read_it()
        return False


@pytest.fixture(autouse=True)
def reads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "threads", AtOnce())
    monkeypatch.setattr(documents, "read", read_here)
    monkeypatch.setattr(documents, "draw_pages", draw_pages_here)
