"""The files of prompts as pages, sockets and reviewers show them."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from chatapp.models import Attachment, Conversation, FileContent, Message, Upstream, User
from chatapp.models.files.attachments import attach
from chatapp.rendering import fragments
from chatapp.rendering.fragments.words import about_file, shown_size
from tests.chat.browsing import Browsing, read_html
from tests.conftest import signed_in
from tests.support import pictures
from tests.support.attaching import upload
from tests.support.drawn import render_html
from tests.support.fake_upstream import FakeUpstream
from tests.support.page import Element, parse
from tests.support.reviewer import open_for_review
from tests.support.stored import store_turn

pytestmark = pytest.mark.django_db

MARKUP = '"><img src=x onerror=alert(1)>.txt'

Send = Callable[..., Message]


@pytest.fixture
def send(alice: User, saved_upstream: Upstream) -> Send:
    """Return a function that stores a prompt of Alice's with attachments, and its reply."""
    conversation = Conversation(user=alice, title="Sky")
    last: list[Message] = []

    def send(*attachments: Attachment, text: str = "Look") -> Message:
        prompt, reply = store_turn(conversation, saved_upstream, text, last[-1] if last else None)
        attach(attachments, prompt.pk)
        Message.objects.filter(pk=prompt.pk).update(file_count=len(attachments))
        last.append(reply)
        return prompt

    return send


def render_prompt(prompt: Message) -> Element:
    """Return a prompt as the page of its conversation shows it."""
    view = Conversation.objects.get(pk=prompt.conversation_id).view()
    return parse(fragments.thread_html(view, render_html)).find(id=f"m-{prompt.pk}")


def find_files(root: Element) -> list[Element]:
    return [
        item
        for file_list in root.find_all("ul", class_="files")
        for item in file_list.find_all("li")
    ]


def read_names(root: Element) -> list[str]:
    return [entry.find("a").attributes["title"] for entry in find_files(root)]


# What is shown


def test_an_image_is_a_thumbnail_of_known_size(alices: Client, send: Send) -> None:
    prompt = send(upload(alices, "sky.png", pictures.png(640, 480)))
    image = render_prompt(prompt).find("ul", class_="files").find("img")
    assert (image.attributes["width"], image.attributes["height"]) == ("320", "240")
    assert (image.attributes["loading"], image.attributes["alt"]) == ("lazy", "sky.png")


def test_a_description_replaces_the_name_as_alternative_text(alices: Client, send: Send) -> None:
    sky = upload(alices, "sky.png", pictures.png(4, 3))
    prompt = send(sky)
    assert alices.post(f"/files/{sky.pk}/describe/", {"alt": "A blue sky"}).status_code == 204
    [file] = find_files(render_prompt(prompt))
    assert file.find("img").attributes["alt"] == "A blue sky"
    assert file.find("a").attributes["data-alt"] == "A blue sky"


@pytest.mark.parametrize(
    ("size", "is_alone", "expected"),
    [
        ((4000, 3000), True, (320, 240)),
        ((100, 50), True, (100, 50)),
        ((3000, 4000), True, (210, 280)),
        ((100, 10_000), True, (48, 280)),
        ((10_000, 100), True, (320, 48)),
        ((4000, 3000), False, (171, 128)),
        ((100, 10_000), False, (48, 128)),
        ((10_000, 100), False, (240, 128)),
        ((0, 0), True, (48, 48)),
    ],
)
def test_thumbnails_are_neither_huge_nor_tiny(
    size: tuple[int, int], is_alone: bool, expected: tuple[int, int]
) -> None:
    assert shown_size(FileContent(width=size[0], height=size[1]), is_alone) == expected


@pytest.mark.parametrize(
    ("unit", "pages", "chosen", "words"),
    [
        ("", 1, (0, 0), "Text · 12\xa0bytes"),
        ("Page", 12, (0, 0), "Text · 12 pages · 12\xa0bytes"),
        ("Slide", 1, (0, 0), "Text · 1 slide · 12\xa0bytes"),
        ("Page", 12, (3, 5), "Text · pages 3\N{EN DASH}5 of 12 · 12\xa0bytes"),
        ("Page", 12, (3, 3), "Text · page 3 of 12 · 12\xa0bytes"),
    ],
)
def test_a_document_says_its_format_its_pages_and_its_size(
    alices: Client, unit: str, pages: int, chosen: tuple[int, int], words: str
) -> None:
    notes = upload(alices, "notes.txt", b"Twelve bytes")
    FileContent.objects.filter(file=notes.file).update(unit=unit, page_ends=[0] * pages)
    notes = Attachment.objects.get(pk=notes.pk)
    notes.choose_pages(chosen)
    assert about_file(notes) == words


def test_a_scan_shows_the_first_page_that_is_sent(alices: Client, send: Send) -> None:
    scan = upload(alices, "scan.pdf", b"-")
    FileContent.objects.filter(file=scan.file).update(kind="scan", page_ends=[0] * 4, unit="Page")
    scan = Attachment.objects.get(pk=scan.pk)
    scan.choose_pages((3, 4))
    [file] = find_files(render_prompt(send(scan)))
    assert file.find("img").attributes["src"] == f"/files/{scan.pk}/page/2/"


def test_a_file_that_has_expired_keeps_its_name(alices: Client, send: Send) -> None:
    prompt = send(upload(alices, "notes.txt", b"A report"))
    assert Attachment.objects.expire()
    [card] = find_files(render_prompt(prompt))
    assert " ".join(card.text.split()) == "notes.txtDeleted by the retention period"
    assert not card.find_all("a")


def test_a_prompt_without_text_has_no_empty_bubble(alices: Client, send: Send) -> None:
    notes = [upload(alices, f"{name}.txt", name.encode()) for name in "ab"]
    alone, with_text = send(notes[0], text=" \n"), send(notes[1])
    assert render_prompt(alone).find_all(class_="bubble prose") == []
    assert len(render_prompt(with_text).find_all(class_="bubble prose")) == 1


def test_markup_in_a_name_or_description_stays_text(alices: Client, send: Send) -> None:
    sky, notes = upload(alices, "sky.png", pictures.png(4, 3)), upload(alices, "notes.txt", b"a")
    sent = send(sky, notes)
    Attachment.objects.update(name=MARKUP, alt=MARKUP)
    prompt = render_prompt(sent)
    assert read_names(prompt) == [MARKUP, MARKUP]
    assert prompt.find_all("img", src="x") == []


# Where it is shown


async def test_the_socket_and_the_page_show_the_same(
    alice: User, saved_upstream: Upstream, upstream: FakeUpstream, generations_end: None
) -> None:
    client = AsyncClient(headers={"host": "localhost"})
    await client.aforce_login(alice)
    sync = await database_sync_to_async(signed_in)(alice)
    ids = []
    for name, data in (("sky.png", pictures.png(4, 3)), ("notes.txt", b"Green")):
        attachment = await database_sync_to_async(upload)(sync, name, data)
        ids.append(str(attachment.pk))
    tab, other = Browsing(client), Browsing(client)
    await tab.open()
    await tab.ask("Look", attached="\n".join(ids))
    await tab.until_ended()
    conversation = await Conversation.objects.aget()
    await other.open(f"/c/{conversation.pk}/")
    first = await conversation.messages.aget(role="user")
    assert read_names(tab.page.root.find(id=f"m-{first.pk}")) == ["sky.png", "notes.txt"]
    assert read_html(tab.page) == read_html(other.page)
    # An edit without the image, shown in place of the prompt.
    edit = {"action": "edit", "edited": str(first.pk), "attached": ids[1]}
    await tab.send(message="Read", prompt=str(uuid4()), **edit)
    await tab.until_ended()
    await other.swap_frames()
    edited = await conversation.messages.aget(role="user", content="Read")
    for page in (tab.page, other.page):
        assert read_names(page.root.find(id=f"m-{edited.pk}")) == ["notes.txt"]
        assert page.root.find_all(id=f"m-{first.pk}") == []
    # Back to the first version, which still has both.
    [previous] = tab.buttons("step")
    await tab.press(previous)
    await tab.until_done()
    assert read_names(tab.page.root.find(id=f"m-{first.pk}")) == ["sky.png", "notes.txt"]
    # Another reply to it.
    await tab.press(tab.buttons("retry")[0])
    await tab.until_ended()
    assert read_names(tab.page.root.find(id=f"m-{first.pk}")) == ["sky.png", "notes.txt"]
    assert "Green" in str(upstream.chat_requests[-1].body)
    await tab.close()
    await other.close()


def test_the_files_of_all_prompts_take_one_query(alices: Client, send: Send) -> None:
    without = queries(send(text="No files"))
    assert not any("chatapp_attachment" in sql for sql in without)
    for number in range(5):
        notes = upload(alices, f"{number}.txt", b"a")
        prompt = send(notes, upload(alices, "sky.png", pictures.png(4, 3)))
    with_files = queries(prompt)
    assert len(with_files) == len(without) + 1
    [files] = [sql for sql in with_files if 'FROM "chatapp_attachment"' in sql]
    assert '"chatapp_filecontent"."text"' not in files


def queries(prompt: Message) -> list[str]:
    """Return the queries of drawing the conversation of a prompt."""
    with CaptureQueriesContext(connection) as captured:
        render_prompt(prompt)
    return [query["sql"] for query in captured.captured_queries]


def test_a_reviewer_sees_the_files_of_a_chat_that_is_open(alices: Client, send: Send) -> None:
    prompt = send(upload(alices, "sky.png", pictures.png(4, 3)), upload(alices, "notes.txt", b"a"))
    rita = signed_in(User.objects.create_user("rita", is_staff=True, reviews=True))
    page = parse(open_for_review(rita, prompt.conversation_id).text)
    assert read_names(page) == ["sky.png", "notes.txt"]
    [image, _] = find_files(page)
    assert "data-alt" not in image.find("a").attributes  # only its owner describes it


def test_a_continuation_has_no_files(send: Send) -> None:
    prompt = send(text="")
    Message.objects.filter(pk=prompt.pk).update(is_continuation=True)
    assert find_files(render_prompt(prompt)) == []
