"""Exports that are much larger than what may be in memory."""

import tracemalloc
from pathlib import Path

import pytest

from chatapp.transfer import Format, read_chats, read_chunks
from tests.support.chat_exports import PNG, write_zip
from tests.transfer.samples import read_all

MEGABYTES = 6


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "export.zip"
    write_zip(path, MEGABYTES * 2**20)
    return path


def test_memory_does_not_grow_with_the_export(export: Path) -> None:
    with export.open("rb") as file:
        list(read_chats([file], Format.CHATGPT))  # what is loaded once
        tracemalloc.start()
        try:
            for _ in read_chats([file], Format.CHATGPT):
                pass
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < MEGABYTES * 2**20 / 2


def test_everything_in_it_is_read(export: Path) -> None:
    with export.open("rb") as file:
        chats, report = read_all(file)
        assert report.skipped_count == 0
        assert not any(chat.left_out for chat in chats)
        files = [
            source_file
            for chat in chats
            for message in chat.messages
            for source_file in message.files
        ]
        assert files
        assert {b"".join(read_chunks(source_file)) for source_file in files} == {PNG}
