"""Mails arrive as people read them: fields, the body once, and what they carry."""

from email.message import EmailMessage

import pytest

from chatapp.documents import LeftOut, Limits, Scan
from chatapp.documents.formats.mail import attachments
from chatapp.documents.formats.mail import writer as mail_writer
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from tests.documents import files, mail_files
from tests.documents.conftest import Reader

PICTURE = files.image("PNG", (60, 40))


def test_fields_and_body_are_decoded(read: Reader) -> None:
    message = mail_files.mail(
        "Anbei über 1.250 €.\n\n> Bitte bis Freitag.\n", Subject="Angebot für März 見積書"
    )
    message.replace_header("From", "山田 太郎 <taro@example.jp>")
    document = read.document(message.as_bytes(), "photo.png")
    assert (document.kind, document.media_type, document.unit) == ("Mail", "message/rfc822", "")
    assert document.pages == (
        "From: 山田 太郎 <taro@example.jp>\n"
        "Date: Tue, 03 Mar 2026 09:12:00 +0100\n"
        "Subject: Angebot für März 見積書\n\n"
        "Anbei über 1.250 €.\n\n> Bitte bis Freitag.",
    )


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("iso2022_jp", "ISO-2022-JP"),
        ("cp932", "Shift_JIS"),
        ("euc_jp", "euc-jp"),
        ("cp932", "x-sjis"),
        ("euc_jp", "utf-8"),  # wrong
        ("cp932", "x-unknown"),
        ("utf_8", ""),
    ],
)
def test_the_body_is_read_in_its_encoding(read: Reader, encoding: str, declared: str) -> None:
    head = "From: a@example.jp\r\nTo: b@example.jp\r\nMIME-Version: 1.0\r\n"
    head += f"Content-Type: text/plain{f'; charset={declared}' if declared else ''}\r\n\r\n"
    content = head.encode() + "会議は三時に始まります。".encode(encoding)
    assert read.text(content).endswith("\n\n会議は三時に始まります。")


def test_utf_7_is_never_decoded(read: Reader) -> None:
    head = b"From: a@example.jp\nTo: b@example.jp\nMIME-Version: 1.0\n"
    head += b"Content-Type: text/plain; charset=utf-7\n\n"
    assert read.text(head + b"+ADw-script+AD4-").endswith("+ADw-script+AD4-")


def test_raw_bytes_in_fields_are_decoded(read: Reader) -> None:
    content = "From: a@example.org\nSubject: Größe\nDate: today\n\nHello".encode()
    assert "Subject: Größe\n" in read.text(content)


def test_a_field_of_binary_does_not_refuse_the_mail(read: Reader) -> None:
    content = b"From: a@example.org\nSubject: \xff\xfe\x01\x02\x03\nDate: today\n\nHello"
    assert read.text(content).endswith("Hello")


def test_the_body_comes_once_and_as_text_if_there_is_one(read: Reader) -> None:
    message = mail_files.mail("The plain text")
    message.add_alternative("<p>The page</p>", subtype="html")
    text = read.text(message.as_bytes())
    assert text.endswith("\n\nThe plain text")


@pytest.mark.parametrize(
    ("text", "words", "is_page"),
    [
        ("Your program can't show this newsletter.", 40, True),
        ("See https://news.example.org/a-long-address-of-this-issue", 6, True),
        ("word " * 60, 400, True),
        ("word " * 60, 150, False),
        ("word word", 2, False),
    ],
)
def test_the_page_is_read_if_the_text_is_a_stub(
    read: Reader, text: str, words: int, is_page: bool
) -> None:
    message = mail_files.mail(text)
    page = '<p><a href="https://example.org/a/b/c/d">page</a> ' + "page " * (words - 1)
    message.add_alternative(page, subtype="html")
    body = read.text(message.as_bytes()).partition("Subject: Plan\n\n")[2]
    assert ("page" in body, text.split()[0] in body) == (is_page, not is_page)


def test_a_footer_that_a_list_adds_hides_no_page(read: Reader) -> None:
    message = mail_files.mail()
    message.set_content("<p>The page</p>", subtype="html")
    message.make_mixed()
    footer = EmailMessage()
    footer.set_content("The footer")
    message.attach(footer)
    assert read.text(message.as_bytes()).endswith("\n\nThe page\n\nThe footer")


def test_a_page_is_read_without_scripts_and_nothing_is_fetched(read: Reader) -> None:
    message = mail_files.mail()
    message.set_content(
        '<title>x</title><p>Hello <b>you</b></p><img src="https://t.example.com/p.gif" width="1">'
        '<img src="https://t.example.com/a.png" alt="Logo"><script>alert(1)</script>'
        "<blockquote>quoted<br>text</blockquote>",
        subtype="html",
    )
    document = read.document(message.as_bytes())
    assert document.pages[0].endswith("\n\nHello you\n\n[Picture: Logo]\n\n> quoted\n> text")
    assert document.left_out == (LeftOut("picture", 1),)


def test_attachments_are_read_by_the_readers_of_files(read: Reader) -> None:
    message = mail_files.mail("See the files")
    table = "氏名;金額\r\n髙橋;￥3,000\r\n".encode("cp932")
    message.add_attachment(table, maintype="text", subtype="csv", filename="見積.csv")
    message.add_attachment(
        files.word(), maintype="application", subtype="octet-stream", filename="report.docx"
    )
    message.add_attachment(
        files.pdf(["Inside the PDF"]), maintype="application", subtype="pdf", filename="a.pdf"
    )
    text = read.text(message.as_bytes())
    assert "[Attachment 見積.csv (CSV, 25 bytes):]\n\n氏名;金額\n髙橋;￥3,000" in text
    assert "[End of 見積.csv]" in text
    assert "[Attachment report.docx (Word, " in text
    assert "# Report" in text
    assert "Inside the PDF\n\n[End of a.pdf]" in text
    assert "base64" not in text
    assert "UEsDB" not in text


def test_what_is_not_read_is_named_with_the_reason(read: Reader) -> None:
    message = mail_files.mail("See the files")
    for name, content in {
        "winmail.dat": b"\x78\x9f\x3e\x22" + bytes(99),
        "all.zip": files.build_zip({"a.txt": "hello"}),
        "broken.docx": files.word()[:900],
    }.items():
        message.add_attachment(content, maintype="application", subtype="x", filename=name)
    document = read.document(message.as_bytes())
    (page,) = document.pages
    assert (
        "[Attachment winmail.dat (application/x, 103 bytes) is left out:"
        " Outlook winmail.dat files cannot be read." in page
    )
    assert "[Attachment all.zip (application/x, " in page
    assert "Archives are not opened." in page
    assert "[Attachment broken.docx (application/x, 900 bytes) is left out: This file" in page
    assert document.left_out == (LeftOut("attachment", 3),)


def test_mails_in_a_mail_are_read_to_a_depth(read: Reader) -> None:
    message = mail_files.mail("Level 0")
    for level in range(1, 6):
        outer = mail_files.mail(f"Level {level}", Subject=f"Subject {level}")
        outer.add_attachment(message)
        message = outer
    document = read.document(message.as_bytes())
    (page,) = document.pages
    assert "[Attachment Subject 4 (Mail):]\n\nFrom: Ann" in page
    assert "Level 2" in page
    assert "Level 1\n" not in page
    assert document.left_out == (LeftOut("attachment", 1),)


def test_only_so_many_attachments_are_read(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_writer, "MAX_ATTACHMENTS", 2)
    message = mail_files.mail()
    for i in range(3):
        message.add_attachment(f"text {i}", filename=f"{i}.txt")
    document = read.document(message.as_bytes())
    assert "text 1" in document.pages[0]
    assert "is left out: Only the first 2 attachments are read.]" in document.pages[0]
    assert document.left_out == (LeftOut("attachment", 1),)


def test_a_mail_of_too_many_parts_is_refused(read: Reader) -> None:
    head = b"From: a\nTo: b\nSubject: c\nContent-Type: multipart/mixed; boundary=x\n\n"
    content = head + b"--x\n\ntext\n" * 1_001 + b"--x--"
    assert read.refusal(content) == "This mail has more than 1,000 parts, the limit for a mail."


def test_many_recipients_come_before_the_other_fields(read: Reader) -> None:
    recipients = ",\n ".join(f"person{i}@example.org" for i in range(1_000))
    content = f"From: ann@example.org\nSubject: x\nTo: {recipients}\nDate: today\n\nHello"
    assert "person999@example.org\nDate: today\nSubject: x\n\nHello" in read.text(content.encode())


def test_attachments_count_to_the_limit_of_characters(read: Reader) -> None:
    message = mail_files.mail()
    message.add_attachment("long text " * 1_000, filename="long.txt")
    document = read.document(message.as_bytes(), characters=5_000)
    assert (
        "[Attachment long.txt (text/plain, 10.0 KB) is left out: This file has more"
        in (document.pages[0])
    )


def _build_illustrated_mail() -> EmailMessage:
    message = mail_files.mail()
    message.set_content('<p>Before <img src="cid:one" alt="A red box"> after</p>', subtype="html")
    message.add_related(PICTURE, maintype="image", subtype="png", cid="<one>")
    return message


def test_pictures_are_in_their_places(read: Reader) -> None:
    document = read.document(_build_illustrated_mail().as_bytes())
    assert document.pages[0].endswith("\n\nBefore [Picture 1: A red box] after")
    (placed,) = document.pictures
    assert document.pages[0][: placed.offset].endswith("red box]")


def test_attached_pictures_and_those_of_attachments_are_placed(read: Reader) -> None:
    message = mail_files.mail("Two files")
    other = files.image("PNG", (50, 50))
    message.add_attachment(other, maintype="image", subtype="png", filename="photo.png")
    scan = files.animation("TIFF", ["red", "blue"])
    message.add_attachment(scan, maintype="image", subtype="tiff", filename="scan.tif")
    message.add_attachment(_build_illustrated_mail())
    document = read.document(message.as_bytes())
    (page,) = document.pages
    assert "[Attachment photo.png (PNG, " in page
    for mark in (
        "[Picture 1: photo.png]",
        "[Picture 2: Page 1 of scan.tif]",
        "[Picture 3: Page 2 of scan.tif]",
        "[Picture 4: A red box]",
    ):
        assert mark in page
    assert [page[: each.offset][-1] for each in document.pictures] == ["]"] * 4


def test_pages_of_a_scan_that_are_left_out_are_named(read: Reader) -> None:
    message = mail_files.mail("A scan")
    scan = files.animation("TIFF", ["red", "blue", "green"])
    message.add_attachment(scan, maintype="image", subtype="tiff", filename="scan.tif")
    document = read.document(message.as_bytes(), pictures=1)
    assert "[Picture 1: Page 1 of scan.tif]\n[Pages 2-3 are left out]" in document.pages[0]
    assert document.left_out == (LeftOut("page", 2),)


def test_what_a_scan_leaves_out_is_counted_in_the_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    scan = Scan("application/pdf", "PDF", (), 1, (LeftOut("attachment", 2),))
    monkeypatch.setattr(attachments, "read_result", lambda *_: scan)
    pages = IllustratedPages(Limits())
    assert attachments.read(b"x", "a.pdf", Limits(), pages) == ("PDF", "[Page 1 is left out]")
    assert pages.left_out == (LeftOut("page", 1), LeftOut("attachment", 2))


def test_attachments_share_the_time_of_the_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    used = iter([12.0, 99.0])
    monkeypatch.setattr("time.process_time", lambda: next(used))
    seconds_left: list[float] = []

    def read(_content: bytes, _name: str, limits: Limits, _pages: object) -> tuple[str, str]:
        seconds_left.append(limits.seconds)
        return "Text", "Words"

    monkeypatch.setattr(attachments, "read", read)
    writer = mail_writer.MailWriter(Limits(seconds=20), IllustratedPages(Limits()), _start=5.0)
    files_in_it = [mail_writer.Attachment(f"{i}.pdf", "application/pdf", b"x") for i in range(2)]
    writer.write(mail_writer.Mail({}, (), files_in_it))
    assert seconds_left == [13.0, 0.0]


def test_pictures_of_an_attached_document_get_the_numbers_of_the_mail(read: Reader) -> None:
    page = files.data_page(PICTURE, "first", "second")
    message = mail_files.mail("One file")
    message.add_attachment(
        files.image("PNG", (50, 50)), maintype="image", subtype="png", filename="photo.png"
    )
    message.add_attachment(page.encode(), maintype="text", subtype="html", filename="a.html")
    document = read.document(message.as_bytes())
    assert "[Picture 2: first] [Picture 2 again]" in document.pages[0]
    assert len(document.pictures) == 2


REPORT = """\
From: MAILER-DAEMON@example.org
Subject: Returned mail
Date: Tue, 03 Mar 2026 09:12:00 +0100
MIME-Version: 1.0
Content-Type: multipart/report; boundary=x

--x
Content-Type: text/plain

It was not delivered.
--x
Content-Type: message/{kind}

{content}
--x--
"""


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        (
            "delivery-status",
            "Reporting-MTA: dns; mx.example.org\n\nAction: failed\nStatus: 5.1.1",
            "Reporting-MTA: dns; mx.example.org\n\nAction: failed\nStatus: 5.1.1",
        ),
        ("disposition-notification", "Disposition: manual; displayed", "displayed"),
        ("global-delivery-status", "Reporting-MTA: dns; x\n\nAction: failed", "Action: failed"),
        ("global", "Subject: Größe\n\nThe original", "Subject: Größe\n\nThe original"),
    ],
)
def test_the_parts_of_reports_are_read(read: Reader, kind: str, content: str, text: str) -> None:
    document = read.document(REPORT.format(kind=kind, content=content).encode())
    assert text in document.pages[0]
    assert document.left_out == ()


@pytest.mark.parametrize(
    ("method", "reason"),
    [(7, "It is only a link to a file."), (6, "Embedded objects are not read.")],
)
def test_attachments_of_outlook_without_content_say_why(
    read: Reader, method: int, reason: str
) -> None:
    attachment: mail_files.Tree = {
        "__properties_version1.0": mail_files.properties({0x37050003: method}, 8),
        **mail_files.outlook_texts({"3707": "plan.docx"}),
    }
    text = {**mail_files.outlook_texts({"1000": "Hello"})}
    content = mail_files.outlook({**text, "__attach_version1.0_#00000000": attachment})
    assert f"[Attachment plan.docx is left out: {reason}]" in read.text(content)


def test_a_mailbox_has_a_page_for_each_mail(read: Reader) -> None:
    first = mail_files.mail("One\n>From here on").as_bytes()
    second = mail_files.mail("Two", Subject="Other").as_bytes()
    mailbox = b"From ann Tue Mar  3 2026\n%s\n\nFrom ben Tue Mar  3 2026\n%s" % (first, second)
    document = read.document(mailbox)
    assert document.unit == "Page"
    assert [page.rpartition("\n\n")[2] for page in document.pages] == ["One\nFrom here on", "Two"]


@pytest.mark.parametrize(
    "text",
    [
        "To: do\nFrom: here\n\nNotes of a meeting",
        "Date: Monday\n\nDear diary",
        "name: value\nother: value\nthird: value\n\nYAML",
        f"From {'a' * 40} Mon Sep 17 00:00:00 2001\nFrom: Ann\nDate: today\nSubject: [PATCH]\n\nx",
    ],
)
def test_notes_with_colons_are_no_mail(read: Reader, text: str) -> None:
    assert read.document(text.encode()).kind == "Text"


def test_mails_of_outlook_are_read(read: Reader) -> None:
    document = read.document(mail_files.outlook(mail_files.OUTLOOK, mail_files.SENT_AT))
    assert document.kind == "Outlook mail"
    (page,) = document.pages
    assert page.startswith(
        "From: Ana <ana@example.org>\nTo: Ben <ben@example.org>\nCc: Cara\n"
        "Date: Tue, 03 Mar 2026 11:12:00 +0000\nSubject: Angebot 見積\n\nHällo\nWelt\n\n"
        "[Attachment a.csv (CSV, 7.2 KB):]\n\na;b\n1;2\n"
    )
    assert page.endswith(
        "[Attachment Inner mail (Mail):]\n\nSubject: Inner\n\nThe inner says 42.\n\n"
        "[End of Inner mail]"
    )


def test_a_page_of_outlook_is_read_in_its_code_page(read: Reader) -> None:
    body = {"__substg1.0_10130102": "<p>会議は <b>三時</b></p>".encode("cp932")}
    assert read.text(mail_files.outlook(body, {0x3FDE0003: 932})) == "会議は 三時"


def test_old_texts_of_outlook_are_read_in_their_code_page(read: Reader) -> None:
    body = {"__substg1.0_1000001E": "Встреча в три часа".encode("cp1251")}
    assert read.text(mail_files.outlook(body, {0x3FFD0003: 1251})) == "Встреча в три часа"


@pytest.mark.parametrize(
    ("rich", "text"),
    [
        (rb"{\rtf1\ansi Hello \b bold\b0\par Second}", "Hello bold\n\nSecond"),
        (
            rb"{\rtf1\ansi\fromhtml1{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Hello &amp; "
            rb"{\*\htmltag84 <b>}you{\*\htmltag92 </b>}\htmlrtf }\htmlrtf0 {\*\htmltag72 </p>}}",
            "Hello & you",
        ),
    ],
)
def test_rich_text_of_outlook_is_read(read: Reader, rich: bytes, text: str) -> None:
    body = {"__substg1.0_10090102": mail_files.packed_rtf(rich)}
    assert read.text(mail_files.outlook(body)) == text


def test_repeated_rich_text_is_unpacked(read: Reader) -> None:
    # The example of the specification: a copy that reads what it has just written.
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d"
        "0a800fa0"
    )
    document = read.text(mail_files.outlook({"__substg1.0_10090102": packed}))
    assert document == "hello world"
