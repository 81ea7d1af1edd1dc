"""Mails, RTF, books, web pages and plain text."""

import base64
from collections.abc import Iterator
from email.message import EmailMessage

from bench.documents.case import Case
from tests.documents import files, mail_files

JAPANESE = "会議は三時に始まります。資料を添付します。"
KOREAN = "회의는 세 시에 시작합니다. 첨부 파일을 확인해 주세요."
CHINESE = "会议将于三点开始。请查收附件中的合同。"
RUSSIAN = "Совещание начинается после обеда, приходите без опоздания."
SENDER = "From: Ana <ana@example.org>\nTo: Ben <ben@example.org>\nMIME-Version: 1.0\n"


def cases() -> Iterator[Case]:
    yield from _mails()
    yield from _outlook_mails()
    yield from _rich_texts()
    yield from _books()
    yield from _web_pages()
    yield from _plain_texts()


def _mails() -> Iterator[Case]:
    message = _mail("Das Angebot beträgt 1.250 €.\n\n> Bitte bis Freitag.\n", "Angebot 見積書")
    message.add_alternative("<p>Das Angebot beträgt <b>1.250</b> €.</p>", subtype="html")
    words = "Ana ana example org Angebot 見積書 Das beträgt 1 250 Bitte bis Freitag"
    yield Case("Mail", "encoded fields, two versions of the body", message.as_bytes(), words)

    page = "<p>Guten Tag</p><blockquote>Zitat</blockquote><table><tr><td>Preis<td>42</table>"
    message = _mail("", "HTML")
    message.set_content(f"<style>p {{}}</style>{page}", subtype="html", cte="base64")
    yield Case("Mail", "only a page", message.as_bytes(), "Guten Tag Zitat Preis 42")

    subject = base64.b64encode("会議の件".encode("iso2022_jp")).decode()
    head = "Content-Type: text/plain; charset=iso-2022-jp\nSubject: =?iso-2022-jp?B?"
    content = f"{SENDER}{head}{subject}?=\n\n".encode() + JAPANESE.encode("iso2022_jp")
    yield Case("Mail", "ISO-2022-JP", content, f"会議の件 {JAPANESE}")

    message = _mail("See the files", "Attachments")
    table = "氏名;部署;金額\r\n髙橋;営業;3000\r\n".encode("cp932")
    message.add_attachment(table, maintype="text", subtype="csv", filename="見積.csv")
    message.add_attachment(
        files.word(), maintype="application", subtype="x", filename="report.docx"
    )
    message.add_attachment(_mail("The inner says 42.", "Inner"))
    words = "See the files 見積 csv 氏名 部署 金額 髙橋 営業 3000 report docx Findings Plain text"
    yield Case("Mail", "attachments", message.as_bytes(), f"{words} nested Inner The inner says 42")

    mailbox = b"From a Tue\n%s\n\nFrom b Tue\n%s" % (
        _mail("First letter", "One").as_bytes(),
        _mail("Second letter", "Two").as_bytes(),
    )
    yield Case("Mail", "a mailbox", mailbox, "One First letter Two Second letter")


def _outlook_mails() -> Iterator[Case]:
    content = mail_files.outlook(mail_files.OUTLOOK, mail_files.SENT_AT)
    words = "Ana Ben Cara 03 Mar 2026 Angebot 見積 Hällo Welt a csv Inner The inner says 42"
    yield Case("Outlook mail", "recipients, a table and a mail in it", content, words)

    rich = mail_files.packed_rtf(
        rb"{\rtf1\ansi\ansicpg1251\fromhtml1{\*\htmltag64 <p>}\'cf\'f0\'e8\'e2\'e5\'f2"
        rb"{\*\htmltag72 </p>}{\*\htmltag64 <p>}second\htmlrtf \par \htmlrtf0 {\*\htmltag72 </p>}}"
    )
    content = mail_files.outlook({"__substg1.0_10090102": rich})
    yield Case("Outlook mail", "a page in rich text", content, "Привет second")


def _rich_texts() -> Iterator[Case]:
    fonts = rb"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset128 MS Gothic;}{\f2\fcharset204 Arial;}}"
    text = rb"Gr\'f6\'dfe {\f1\'89\'ef\'8bc} {\f2\'cf\'f0\'e8\'e2\'e5\'f2} \u-21412?"
    content = rb"{\rtf1\ansi\ansicpg1252\deff0" + fonts + text + b"}"
    yield Case("RTF", "fonts of several scripts", content, "Größe 会議 Привет 걜")

    content = (
        rb"{\rtf1\ansi{\header Acme Ltd\par}\trowd\cellx1\cellx2\pard\intbl Name\cell Value\cell"
        rb"\row\pard Text{\footnote A note}{\*\annotation A comment}\par{\shp{\*\shpinst{\shptxt"
        rb" In the box\par}}}{\field{\*\fldinst HYPERLINK x}{\fldrslt shown}}{\v  concealed}\par}"
    )
    words = "Acme Ltd Name Value Text A note A comment In the box shown concealed"
    yield Case("RTF", "tables, notes, comments and boxes", content, words)


def _books() -> Iterator[Case]:
    chapter = (
        '<html xmlns:epub="http://www.idpf.org/2007/ops"><head><title/></head><h1>Eins<a id="p"/>'
        '</h1><p>Text<a epub:type="noteref" href="#n">1</a> und mehr</p>'
        '<aside epub:type="footnote" id="n">Die Note</aside></html>'
    )
    other = "<html><h1>Zwei</h1><p><ruby>漢字<rt>かんじ</rt></ruby></p></html>"
    content = files.book({"b.xhtml": other, "a.xhtml": chapter})
    words = "Das Buch Ana Ben Eins Text 1 und mehr Die Note Zwei 漢字 かんじ"
    yield Case("EPUB", "chapters, notes and readings", content, words)


def _web_pages() -> Iterator[Case]:
    page = (
        "<!doctype html><title>News</title><h1>Head</h1><table><caption>Sales<tr><th>Year<td>2026"
        '</table><dl><dt>Term<dd>Meaning</dl><img src="https://x.test/a.png" alt="A chart">'
        "<details><summary>More</summary>Inside</details><ruby>東京<rt>とうきょう</rt></ruby>"
    )
    words = "News Head Sales Year 2026 Term Meaning A chart More Inside 東京 とうきょう"
    yield Case("HTML", "tables, lists, details and readings", page.encode(), words)

    page = (
        '<!doctype html><form><input name=q value="Ana"><select name=c><option>Red<option selected>'
        "Blue</select><textarea>two words</textarea></form><iframe src='https://x.test/map' "
        "title=Map></iframe><svg><text>Total 42</text></svg>"
    )
    words = "q Ana c Blue Red two words Map Total 42"
    yield Case("HTML", "forms, frames and drawings", page.encode(), words)

    data = base64.b64encode(files.image("PNG", (60, 40))).decode()
    cells = (
        '{"cell_type": "markdown", "source": ["# Study"]},'
        '{"cell_type": "code", "source": "print(1)", "outputs": ['
        '{"output_type": "stream", "text": ["one line"]},'
        f'{{"output_type": "display_data", "data": {{"image/png": "{data}"}}}}]}}'
    )
    content = f'{{"nbformat": 4, "metadata": {{}}, "cells": [{cells}]}}'.encode()
    yield Case("Notebook", "cells, outputs and pictures", content, "Study print 1 one line")


def _plain_texts() -> Iterator[Case]:
    for text, encodings in {
        JAPANESE: ("shift_jis", "euc_jp", "iso2022_jp", "utf-16"),
        CHINESE: ("gb18030",),
        KOREAN: ("euc_kr",),
        RUSSIAN: ("cp1251", "koi8_r", "cp866"),
        "Das Treffen für März beginnt früh in der Küche.": ("cp1252", "cp850", "mac_roman"),
        "Zażółć gęślą jaźń, proszę przyjść.": ("cp1250", "iso8859_2"),
    }.items():
        for encoding in encodings:
            yield Case("Plain text", encoding, text.encode(encoding), text)
    content = b"".join(b"Name %d\0Town and street of a person\r" % i for i in range(9))
    words = "Town and street of a person " * 9 + " ".join(f"Name {i}" for i in range(9))
    yield Case("Plain text", "NUL characters and old line ends", content, words)


def _mail(body: str, subject: str) -> EmailMessage:
    return mail_files.mail(body, Subject=subject, From="Ana <ana@example.org>")
