"""Files in a script's messages: read as attached files are, and stored nowhere."""

import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import openai
import pytest
from django.conf import settings
from django.db import OperationalError
from openai import AsyncOpenAI

from chatapp.api import completions
from chatapp.api.files import READ_SECONDS
from chatapp.models import Attachment, FileContent, StoredFile
from tests.api.conftest import MODEL
from tests.documents.files import image, open_image, pdf
from tests.support.fake_upstream import FakeUpstream, delta, done, finish

pytestmark = pytest.mark.django_db(transaction=True)


def build_file_part(name: str, media_type: str, data: bytes) -> Any:
    url = f"data:{media_type};base64,{b64encode(data).decode()}"
    return {"type": "file", "file": {"filename": name, "file_data": url}}


async def send_parts(script: AsyncOpenAI, upstream: FakeUpstream, *parts: Any) -> list[Any]:
    """Return the content that the upstream is sent of these parts."""
    upstream.script(delta("Read"), finish(), done())
    content = [*parts, {"type": "text", "text": "What is it?"}]
    await script.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": content}]
    )
    received: list[Any] = upstream.chat_requests[-1].body["messages"][0]["content"]
    return received


async def test_the_text_of_a_document_is_sent_as_an_attachment_is(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    file = build_file_part("a <b>.pdf", "application/pdf", pdf(["Rome", "Milan"]))
    document, question = await send_parts(script, upstream, file)
    first, *lines, last = document["text"].splitlines()
    assert 'name="a &lt;b&gt;.pdf" pages="page 1-2 of 2">' in first
    assert lines == ["[Page 1]", "Rome", "", "[Page 2]", "Milan"]
    assert last.startswith("</document-")
    assert question == {"type": "text", "text": "What is it?"}
    for model in (Attachment, FileContent, StoredFile):
        assert not await model.objects.aexists()


async def test_the_content_decides_what_a_file_is(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    file = build_file_part("a.pdf", "application/pdf", image("PNG", (3000, 1500)))
    picture, _ = await send_parts(script, upstream, file)
    url = picture["image_url"]["url"]
    assert url.startswith("data:image/")
    assert max(open_image(b64decode(url.partition(",")[2])).size) == 2048


async def test_pages_of_a_scan_are_sent_as_images(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    label, first, second, _ = await send_parts(
        script, upstream, build_file_part("s.pdf", "application/pdf", pdf(["", ""]))
    )
    assert label["text"] == "s.pdf: page 1-2 of 2, as images."
    assert first["type"] == second["type"] == "image_url"


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (build_file_part("a.bin", "application/pdf", bytes(range(256)) * 4), ""),
        (build_file_part("a.txt", "text/plain", b""), "This file is empty."),
        (
            {"type": "file", "file": {"file_data": "data:text/plain;base64,A"}},
            "The base64 of this file is not valid.",
        ),
    ],
)
async def test_a_file_that_cannot_be_read_is_an_error_at_its_place(
    script: AsyncOpenAI, upstream: FakeUpstream, file: Any, sentence: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await send_parts(script, upstream, file)
    assert (caught.value.code, caught.value.param) == ("invalid_file", "messages[0].content")
    assert sentence in str(caught.value)
    assert not upstream.chat_requests


async def test_a_file_can_be_larger_than_a_page_may_send(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    text = "Rome and Milan. " * 100_000
    document, _ = await send_parts(
        script, upstream, build_file_part("a.txt", "text/plain", text.encode())
    )
    assert text.strip() in document["text"]


async def test_a_database_that_is_away_while_files_are_read_is_reported(
    script: AsyncOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(model: str, person: int) -> None:
        raise OperationalError

    monkeypatch.setattr(completions, "find_model", fail)
    content: Any = [build_file_part("a.pdf", "application/pdf", pdf(["Rome"]))]
    with pytest.raises(openai.APIStatusError) as caught:
        await script.with_options(max_retries=0).chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": content}]
        )
    assert caught.value.status_code == 503


def test_nginx_waits_longer_than_files_may_take_to_be_read() -> None:
    text = Path(settings.BASE_DIR, "deploy/nginx.conf").read_text()
    location = text.partition("/api/v1/chat/completions {")[2].partition("}")[0]
    [seconds] = re.findall(r"proxy_read_timeout (\d+)s;", location)
    assert int(seconds) > READ_SECONDS
