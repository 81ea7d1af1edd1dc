"""Pictures in documents: what a model is sent of them, and what people see."""

from uuid import uuid4

import pytest
from django.test import Client

from chatapp.documents import Document, LeftOut, Picture, PlacedPicture
from chatapp.models import Attachment, ModelChoice, Prompt, Upstream, User
from chatapp.realtime.generation.request import adapt_history
from chatapp.rendering.fragments.words import about_file
from chatapp.upstream.wire.requests.content import PICTURE_LEFT_OUT, ImagePart
from chatapp.upstream.wire.requests.history import History
from tests.support.attaching import draft_file
from tests.support.page import parse
from tests.support.pictures import png
from tests.support.stored import MODEL

pytestmark = pytest.mark.django_db

FIRST, SECOND = "Before\n[Picture 1: A tree]", "| a | b |\n| --- | --- |\n| [Picture 2] |"
TEXT = [f"{FIRST}\nafter.", f"{SECOND} x |\n| y | z |\nEnd"]


def picture(side: int = 40) -> Picture:
    return Picture("image/png", side, side, png(side, side), png(4, 4))


def report() -> Document:
    return Document(
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "Word",
        "Page",
        tuple(TEXT),
        (
            PlacedPicture(0, len(FIRST), picture(40)),
            PlacedPicture(1, len(SECOND) - 2, picture(50)),
        ),
        (LeftOut("picture", 3), LeftOut("comment", 1)),
    )


@pytest.fixture
def attachment(alice: User) -> Attachment:
    return draft_file(alice, "report.docx", report())


def texts_and_images(parts: object) -> list[str]:
    assert isinstance(parts, list)
    return [
        f"image {part.width}" if isinstance(part, ImagePart) else str(part["text"])
        for part in parts
    ]


def test_pictures_are_sent_where_they_stand(attachment: Attachment) -> None:
    before, first, between, second, after = texts_and_images(attachment.parts())
    assert before.endswith(f"[Page 1]\n{FIRST}")
    assert (first, second) == ("image 40", "image 50")
    assert between == "\nafter.\n\n[Page 2]\n" + SECOND[:-2]
    assert after.startswith(" | x |\n| y | z |\nEnd\n</document-")


def test_a_page_alone_has_its_own_pictures(attachment: Attachment) -> None:
    attachment.choose_pages((2, 2))
    assert texts_and_images(attachment.parts())[1::2] == ["image 50"]


def test_the_model_reads_what_is_left_out(attachment: Attachment) -> None:
    [opening, *_] = texts_and_images(attachment.parts())
    assert 'left-out="3 pictures, 1 comment"' in opening.splitlines()[0]


def test_people_see_what_is_left_out(attachment: Attachment) -> None:
    assert "left out: 3 pictures, 1 comment" in about_file(attachment)


def build_history(user: User, upstream: Upstream, attachment: Attachment) -> History:
    prompt = Prompt("Look", ModelChoice(upstream.pk, MODEL), files=[attachment.pk])
    return prompt.store(user, uuid4()).history


def test_a_model_without_images_reads_that_they_are_left_out(
    alice: User, saved_upstream: Upstream, attachment: Attachment
) -> None:
    history = build_history(alice, saved_upstream, attachment)
    saved_upstream.model_images = {MODEL: False}
    taken = adapt_history(history, saved_upstream, MODEL)
    [message] = taken.messages
    texts = texts_and_images(message["content"])
    assert texts[1] == texts[3] == PICTURE_LEFT_OUT
    assert taken.images == ()
    assert taken.text_bytes == History.of(taken.messages).text_bytes > history.text_bytes


def test_other_models_get_the_pictures(
    alice: User, saved_upstream: Upstream, attachment: Attachment
) -> None:
    history = build_history(alice, saved_upstream, attachment)
    assert adapt_history(history, saved_upstream, MODEL) is history
    assert [picture_part.width for picture_part in history.images] == [40, 50]
    assert not history.needs_images


def test_pictures_beyond_the_limit_are_not_sent(settings: object, attachment: Attachment) -> None:
    settings.CHATAPP_SCANNED_PAGES = 1  # type: ignore[attr-defined]
    _, image, following = texts_and_images(attachment.parts())
    assert image == "image 40"
    assert "[Picture 2]" in following


def test_the_viewer_shows_pictures_behind_their_line_or_table(
    alices: Client, attachment: Attachment
) -> None:
    page = parse(alices.get(f"/files/{attachment.pk}/text/").content.decode())
    document = page.find(class_="document-text")
    assert [
        picture_element.attributes["width"] for picture_element in document.find_all("img")
    ] == ["40", "50"]
    words = document.html
    assert words.index("A tree") < words.index("/page/0/") < words.index("after.")
    assert words.index("<td>z") < words.index("/page/1/") < words.index("End")
    assert len(document.find_all("table")) == 1
    for image in document.find_all("img"):
        assert alices.get(image.attributes["src"]).status_code == 200


def test_an_animation_says_that_it_is_one(alice: User) -> None:
    moving = Picture("image/png", 9, 9, png(9, 9), png(4, 4), (LeftOut("frame", 2),))
    attachment = draft_file(alice, "spin.gif", moving)
    note, image = texts_and_images(attachment.parts())
    assert "Only its first frame is sent" in note
    assert image == "image 9"
    assert "left out: 2 frames" in about_file(attachment)
