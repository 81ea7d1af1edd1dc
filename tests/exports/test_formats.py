"""Chats in each format: complete, with half answers marked, and with markup that does no harm."""

import csv
import io
import re
from zipfile import ZipFile

import pytest

from chatapp.exports.contents import Contents
from chatapp.exports.formats.html import html
from chatapp.exports.formats.json_lines import json_lines
from chatapp.exports.formats.markdown import markdown
from chatapp.exports.formats.usage import usage_csv
from chatapp.exports.reading import ChatReader
from chatapp.exports.zipped import Zip
from chatapp.models import Conversation, Message, Upstream, User
from chatapp.rendering.markdown.commonmark import to_html
from chatapp.transfer import SourceChat, SourceMessage, read_chunks
from chatapp.upstream.wire.reply import Ending
from tests.exports.written import PICTURE, create_stars, read_chat
from tests.support.dom import document
from tests.transfer.samples import only

pytestmark = pytest.mark.django_db


@pytest.fixture
def stars(alice: User, saved_upstream: Upstream) -> Conversation:
    return create_stars(alice, saved_upstream)


def find_half(chat: SourceChat) -> SourceMessage:
    return next(message for message in chat.messages if message.ending is Ending.CUT_OFF)


def as_text(pieces: object) -> str:
    return b"".join(pieces).decode()  # type: ignore[arg-type]


def build_zip(chat: Conversation) -> io.BytesIO:
    """Return an archive of the chat as JSON with its files."""
    archive, contents = Zip(), Contents("files/")
    pieces = [*archive.add("conversations.jsonl", json_lines([read_chat(chat)], contents))]
    pieces += contents.write(archive)
    pieces += archive.add("files.json", [contents.index])
    return io.BytesIO(b"".join([*pieces, *archive.close()]))


def test_json_is_read_back_as_the_same_tree(stars: Conversation) -> None:
    chat = only(io.BytesIO(as_text(json_lines([read_chat(stars)])).encode()))
    stored = stars.messages.filter(deleted_at=None)
    tree = {
        str(message.pk): str(message.parent_id) if message.parent_id else None for message in stored
    }
    assert {message.source_id: message.parent for message in chat.messages} == tree
    half = find_half(chat)
    assert (half.ending, half.content) == (Ending.CUT_OFF, "I look it up.\n\nAbout")
    assert [source_round.content for source_round in half.rounds] == ["I look it up.", "About"]
    assert half.rounds[0].tool_runs[0].result == "```\n</details>"
    assert chat.left_out == {}
    assert chat.messages[1].own.imported_usage == {
        "provenance": "reported", "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7,
    }  # fmt: skip


def test_the_branch_that_was_read_last_is_read_back(stars: Conversation) -> None:
    half = stars.messages.get(content="About")
    stars.go_on_from(half.pk)
    chat = only(io.BytesIO(as_text(json_lines([read_chat(stars)])).encode()))
    assert chat.active_leaf == str(half.pk)
    assert chat.notes == ()


def test_files_in_the_archive_are_read_back(stars: Conversation) -> None:
    [picture] = find_half(only(build_zip(stars))).files
    assert (picture.name, picture.media_type) == ("Image 1.png", "image/png")
    assert b"".join(read_chunks(picture)) == PICTURE


def test_markdown_has_all_of_a_chat(stars: Conversation) -> None:
    text = as_text(markdown(read_chat(stars)))
    assert text.startswith("# \\<b\\>Stars\\</b\\>\n")
    assert "project: Sky \\& \\<space\\>" in text
    assert "Be exact." in text
    assert "forgotten" not in text
    assert "<summary>Reasoning</summary>\n\nHm, \\</details>." in text
    assert "> **This answer is incomplete. The connection to the model ended" in text
    assert "*Message 3, version 2 of 2, follows message 1.*" not in text  # with its date before
    assert "Message 3, version 2 of 2, follows message 1.*" in text


def test_nothing_in_markdown_changes_what_is_around_it(stars: Conversation) -> None:
    text = as_text(markdown(read_chat(stars)))
    # Our own two elements are the only raw HTML; everything else is Markdown to the end.
    lines = [line for line in text.splitlines() if line.startswith(("<details>", "</details>"))]
    assert lines.count("<details>") == 3
    own = re.sub(r"(?m)^</?(?:details|summary)>.*$", "", text)
    rendered = to_html(own)
    assert "raw HTML omitted" not in rendered
    assert rendered.count("<h2>") == 4
    assert "25 &lt;light&gt;-years" in rendered


def test_markdown_of_the_shown_branch_has_no_other(stars: Conversation) -> None:
    stars.go_on_from(stars.messages.get(content="About").pk)
    text = as_text(markdown(read_chat(stars, is_shown_only=True)))
    assert "light" not in text
    assert "Deneb" not in text
    assert "version" not in text


def test_markdown_links_to_the_files_beside_it(stars: Conversation) -> None:
    contents = Contents("Stars files/")
    text = as_text(markdown(read_chat(stars), contents))
    assert "![Image 1](<Stars%20files/Image%201.png>)" in text
    archive = Zip()
    data = b"".join([*contents.write(archive), *archive.close()])
    assert ZipFile(io.BytesIO(data)).read("Stars files/Image 1.png") == PICTURE


def test_a_page_loads_nothing_and_runs_nothing(stars: Conversation) -> None:
    text = as_text(html(read_chat(stars)))
    page = document(text)
    assert not page.find_all("script")
    assert not page.find_all("button")
    assert not page.find_all("form")
    assert not page.find_all("link")
    assert "<i>far</i>" not in text
    assert "&lt;b&gt;Stars&lt;/b&gt;" in text
    assert 'http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;;' in text
    assert re.findall('<img src="(.{22})', text) == ["data:image/png;base64,"]


def test_a_page_has_all_of_a_chat(stars: Conversation) -> None:
    page = document(as_text(html(read_chat(stars))))
    assert len(page.find_all("article")) == 2
    page_text = " ".join("".join(element.text for element in page.find_all("main")).split())
    assert "This answer is incomplete. The connection to the model ended" in page_text
    assert "And Deneb?" in page_text
    assert "forgotten" not in page_text
    assert "Be exact." in page_text


def test_tools_have_readable_names_and_keep_their_own(stars: Conversation) -> None:
    [name] = document(as_text(html(read_chat(stars)))).select(".tool-name")
    assert (name.text.strip(), name.attr("title")) == ("Look", "look")
    assert "<summary>Tool call: Look</summary>\n\nlook: done" in as_text(markdown(read_chat(stars)))


def test_usage_is_a_table_without_formulas(stars: Conversation) -> None:
    rows = list(csv.DictReader(io.StringIO(as_text(usage_csv(ChatReader(stars.user, [stars.pk]))))))
    [row] = rows
    assert (row["chat"], row["title"]) == (str(stars.pk), "<b>Stars</b>")
    assert (row["model"], row["total_tokens"], row["cost_usd"]) == ("'=m", "7", "0.001500000")


def test_other_peoples_chats_are_not_read(bob: User, stars: Conversation) -> None:
    assert list(ChatReader(bob, [stars.pk])) == []
    assert as_text(usage_csv(ChatReader(bob, [stars.pk]))).count("\n") == 1


def test_what_is_deleted_while_an_export_runs_is_left_out(stars: Conversation) -> None:
    pieces = json_lines([read_chat(stars)])
    begun = next(pieces)
    stars.messages.exclude(content__startswith="How").delete()
    [message] = only(io.BytesIO(b"".join([begun, *pieces]))).messages
    assert message.content.startswith("How")


def test_a_reply_that_is_still_being_written_says_so(stars: Conversation) -> None:
    Message.objects.filter(content="About").update(ending="streaming")
    sentence = "This answer was still being written when it was exported."
    assert sentence in as_text(markdown(read_chat(stars)))
    assert sentence in as_text(html(read_chat(stars)))
    assert '"is_incomplete":true' in as_text(json_lines([read_chat(stars)]))
