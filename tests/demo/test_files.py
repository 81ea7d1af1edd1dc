"""The demo's answers about files that come with a question."""

import base64
import json
from typing import Any

import pytest

from chatapp.demo.picture import dusk
from tests.demo import Client
from tests.support.pictures import png


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


async def answer_to(*parts: dict[str, Any], model: str = "demo-reasoner") -> Client:
    messages = [{"role": "user", "content": list(parts)}]
    body = {"model": model, "messages": messages, "stream": True}
    return await Client(json.dumps(body).encode()).run()


async def test_documents_and_images_are_named_with_their_sizes() -> None:
    document = f'<document name="report.pdf">\n{"x" * 1000}\n</document>'
    data = base64.b64encode(png(640, 480)).decode()
    client = await answer_to(
        text(document), image(f"data:image/png;base64,{data}"), image(dusk()), text("What is this?")
    )
    answer = client.reply().answer
    assert "3 files" in answer
    assert f"`report.pdf`, with {len(document):,} characters" in answer
    assert "an image (PNG), 640 × 480 pixels" in answer
    assert "240 × 120 pixels" in answer


async def test_a_document_without_a_name_is_named_by_its_first_line() -> None:
    answer = (await answer_to(text("# My `notes`\nMore"), text("Why?"))).reply().answer
    assert "a document, `# My 'notes'`, with 17 characters" in answer


async def test_a_document_may_come_without_a_question() -> None:
    document = '<document-0123 name="a table.txt">\nshow me a table\n</document-0123>'
    answer = (await answer_to(text(document))).reply().answer
    assert "I received a file" in answer
    assert "a document, `a table.txt`" in answer


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("data:image/png;base64,AAAA", "an image that I can't recognise"),
        ("https://example.org/a.png", "an image at another address"),
    ],
)
async def test_an_image_that_cannot_be_read_is_mentioned(url: str, words: str) -> None:
    assert words in (await answer_to(image(url), text("Why?"))).reply().answer


async def test_a_model_without_images_refuses_them_and_takes_documents() -> None:
    refused = await answer_to(image(dusk()), text("Why?"), model="demo-plain")
    assert refused.status == 400
    message = refused.json["error"]["message"]
    assert message == "The model 'demo-plain' does not support image input."
    taken = await answer_to(text("Notes"), text("Why?"), model="demo-plain")
    assert "a document, `Notes`" in taken.reply().answer
