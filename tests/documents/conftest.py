"""`read` reads a file as the sandbox does, in this process; `sandboxed_reader` in the real sandbox,
which takes half a second to start."""

import io
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from chatapp import documents
from chatapp.documents import Document, Limits, Picture, Scan, Unreadable, answers
from chatapp.documents.labels import refine_label
from chatapp.documents.sandbox.child import find_outcome


@dataclass(frozen=True)
class Reader:
    """Reads content within limits that a test may narrow."""

    read: Callable[[bytes, Limits, str], Document | Picture | Scan]

    def __call__(
        self, content: bytes, name: str = "", /, **limits: float
    ) -> Document | Picture | Scan:
        return self.read(content, Limits(**(asdict(Limits()) | limits)), name)

    def document(self, content: bytes, name: str = "", /, **limits: float) -> Document:
        result = self(content, name, **limits)
        assert isinstance(result, Document)
        return result

    def text(self, content: bytes, name: str = "", /, **limits: float) -> str:
        (page,) = self.document(content, name, **limits).pages
        return page

    def picture(self, content: bytes, name: str = "", /, **limits: float) -> Picture:
        result = self(content, name, **limits)
        assert isinstance(result, Picture)
        return result

    def scan(self, content: bytes, /, **limits: float) -> Scan:
        result = self(content, **limits)
        assert isinstance(result, Scan)
        return result

    def refusal(self, content: bytes, name: str = "", /, **limits: float) -> str:
        with pytest.raises(Unreadable) as refused:
            self(content, name, **limits)
        return str(refused.value)


@pytest.fixture
def read() -> Reader:
    def read_here(content: bytes, limits: Limits, name: str) -> Document | Picture | Scan:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw_outcome = find_outcome(io.BytesIO(content), limits, lambda _: None)
        outcome = answers.decode_result(answers.encode_outcome(raw_outcome), limits)
        if isinstance(outcome, Unreadable):
            raise outcome
        return refine_label(outcome, name)

    return Reader(read_here)


@pytest.fixture
def sandboxed_reader(tmp_path: Path) -> Reader:
    def read_there(content: bytes, limits: Limits, name: str) -> Document | Picture | Scan:
        path = tmp_path / "content"
        path.write_bytes(content)
        return documents.read(path, limits, name)

    return Reader(read_there)
