"""Text in any common encoding is read as it stands; web pages become Markdown."""

import pytest

from chatapp.documents import LeftOut
from chatapp.documents.formats.text.plain_text import SVG, WEB_PAGE
from tests.documents import files
from tests.documents.conftest import Reader

JAPANESE = "これは日本語の文章です。文字コードの判定を試します。\n"
CHINESE = "這是一個繁體中文文本。我們測試字元編碼的偵測。\n"
KOREAN = "이것은 한국어 문장입니다. 문자 인코딩 감지를 시험합니다.\n"
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю.\n"
FRENCH = "L\u2019élève a mangé à la crêperie près du château.\n"

ENCODED = [
    *((CHINESE, each) for each in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")),
    *((FRENCH, each) for each in ("utf-32", "utf-32-le", "utf-32-be", "utf-16-be", "cp1252")),
    *((JAPANESE, each) for each in ("shift_jis", "euc_jp", "iso2022_jp")),
    (CHINESE, "big5"),
    ("这是一个简体中文文本。我们测试字符编码的检测。\n", "gb18030"),
    (KOREAN, "euc_kr"),
    *((RUSSIAN, each) for each in ("cp1251", "koi8_r")),
    ("Un élève a mangé à la crêperie.\n", "latin-1"),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy.\n", "cp1250"),
    ("Şu anda değişik bir yağmur var, güneş yok.\n", "cp1254"),
    ("Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.\n", "cp1253"),
]


@pytest.mark.parametrize(("text", "encoding"), ENCODED)
def test_the_encoding_of_a_text_is_found(read: Reader, text: str, encoding: str) -> None:
    assert read.text(text.encode(encoding)) == text.strip()


SHORT = [
    *(
        (text, encoding)
        for text in (
            "会議は三時に始まります。",
            "東京都千代田区霞が関",
            "売上,4月,5月\n東京,100,200",
        )
        for encoding in ("shift_jis", "euc_jp", "iso2022_jp")
    ),
    *(
        (text, "gb18030")
        for text in ("会议将于三点开始。", "请查收附件中的合同", "姓名,部门\n王伟,销售部")
    ),
    *((text, "big5") for text in ("會議將於三點開始。", "請查收附件中的合約")),
    *((text, "euc_kr") for text in ("회의는 세 시에 시작합니다.", "이름,부서\n김철수,영업부")),
    *(("Привет, мир! Всё хорошо", each) for each in ("cp1251", "koi8_r", "cp866", "iso8859_5")),
    ("Зустріч почнеться після третьої години.", "koi8_u"),
    ("הפגישה מתחילה בשעה שלוש.", "cp1255"),
    ("يبدأ الاجتماع في الساعة الثالثة.", "cp1256"),
    ("การประชุมเริ่มเวลาบ่ายสามโมง", "tis_620"),
    *(("Das Meeting für März beginnt früh.", each) for each in ("cp1252", "cp850", "mac_roman")),
    ("La réunion commence à trois heures, d\u2019après Zoé.", "cp1252"),
    *(("Zażółć gęślą jaźń", each) for each in ("cp1250", "iso8859_2")),
    ("Schůzka začíná ve tři hodiny odpoledne.", "cp1250"),
    ("Az ülés három órakor kezdődik.", "cp1250"),
    ("Bugün hava güneşli ve çok güzel, değil mi?", "cp1254"),
]


@pytest.mark.parametrize(("text", "encoding"), SHORT)
def test_the_encoding_of_a_short_text_is_found(read: Reader, text: str, encoding: str) -> None:
    assert read.text(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("sentence", "encoding"),
    [
        ("会議は三時に始まります。", "shift_jis"),
        ("会議は三時に始まります。", "euc_jp"),
        ("会议将于三点开始。", "gb18030"),
    ],
)
def test_a_wrong_byte_does_not_change_a_legacy_encoding(
    read: Reader, sentence: str, encoding: str
) -> None:
    lines = [f"{i}. {sentence}".encode(encoding) for i in range(20)]
    lines[3] += b"\xff"
    assert read.text(b"\n".join(lines)).count(sentence) >= 19


def test_text_with_nul_characters_is_read_and_says_so(read: Reader) -> None:
    content = b"".join(b"Name %d\0 Town and street of the person\n" % i for i in range(9))
    assert read.text(content).startswith("Name 0\ufffd Town and street")


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"])
def test_any_line_end_is_one_line_end(read: Reader, line_end: str) -> None:
    assert read.text(line_end.join(("eins", "zwei", "drei")).encode()) == "eins\nzwei\ndrei"


def test_a_few_wrong_bytes_do_not_change_the_encoding(read: Reader) -> None:
    content = (JAPANESE * 9).encode()[:-3] + b"\xff"
    assert read.text(content) == (JAPANESE * 9)[:-2] + "\ufffd\ufffd"
    assert read.text("only \ufffd".encode()) == "only \ufffd"


def test_a_long_text_is_read_in_its_encoding(read: Reader) -> None:
    text = JAPANESE * 8_000
    assert read.text(text.encode("shift_jis")) == text.strip()


@pytest.mark.parametrize(
    ("name", "kind", "media_type"),
    [
        ("", "Text", "text/plain"),
        ("report.pdf", "Text", "text/plain"),
        ("main.PY", "Python", "text/plain"),
        ("README.md", "Markdown", "text/markdown"),
        ("sales.csv", "CSV", "text/csv"),
        ("x" * 10_000 + ".rs", "Rust", "text/plain"),
        ("../../etc/passwd\n.csv/", "CSV", "text/csv"),
    ],
)
def test_the_name_only_refines_the_label(
    read: Reader, name: str, kind: str, media_type: str
) -> None:
    document = read.document(b"a,b\n1,2\n", name)
    assert (document.kind, document.media_type, document.unit) == (kind, media_type, "")
    assert document.pages == ("a,b\n1,2",)


def test_characters_that_cannot_be_stored_or_shown_are_replaced_or_removed(read: Reader) -> None:
    text = "nul\0 bell\x07 tab\t cr\rcrlf\r\nesc\x1b[0m" + " more text" * 100
    assert read.text(text.encode()).startswith("nul\ufffd bell tab\t cr\ncrlf\nesc[0m more")


def test_a_drawing_is_text_and_never_an_image(read: Reader) -> None:
    svg = b'<?xml version="1.0"?><!-- x --><svg xmlns="http://www.w3.org/2000/svg"></svg>'
    document = read.document(svg, "photo.png")
    assert (document.kind, document.media_type) == ("SVG", "text/xml")
    assert document.pages == (svg.decode(),)


def test_scripts_of_a_drawing_are_left_out(read: Reader) -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg">\n<script>alert("</text>")</script>'
        '<script href="x.js"/><text>Total 42</text>\n<svg:script>x</svg:script></svg>'
    )
    document = read.document(svg.encode())
    (page,) = document.pages
    assert page.count("[Script left out]") == 3
    assert "Total 42" in page
    assert "alert" not in page
    assert document.left_out == (LeftOut("script", 3),)


def test_a_web_page_is_read_as_markdown_whatever_its_name(read: Reader) -> None:
    page = (
        "<!DOCTYPE html><title>News</title><style>p {}</style><script>alert(1)</script>"
        "<h1>Hello <a href='https://example.org/'>site</a></h1><p>one<br>two  <b>bold</b>"
        "<a href='javascript:alert(1)'>bad</a></p><ul><li>a<ul><li>b</ul><li>c</ul>"
        "<ol><li>d</ol><table><tr><th>h<th>i<tr><td>1<td>2|3</table><pre>x\n  y</pre>"
    )
    document = read.document(page.encode(), "photo.png")
    assert (document.kind, document.media_type) == ("HTML", "text/html")
    assert document.pages == (
        "News\n\n# Hello [site](https://example.org/)\n\none\ntwo boldbad\n\n"
        "- a\n   - b\n- c\n\n1. d\n\n| h | i |\n| --- | --- |\n| 1 | 2\\|3 |\n\n```\nx\n  y\n```",
    )


def test_indented_markup_does_not_add_spaces_or_lines(read: Reader) -> None:
    page = """<!-- saved --><html>
      <body>
        <ul>
          <li><p>one</p>
          <li>two <ol> <li>three </ol>
        </ul>
        <table>
          <tr> <td> <p>a</p> </td> <td>b
            c</td> </tr>
        </table>
        <p>
          the <a href="https://example.org/"> end</a>.
        </p>
      </body>"""
    assert read.text(page.encode()) == (
        "- one\n\n- two\n   1. three\n\n| a | b c |\n| --- | --- |\n\nthe [end](https://example.org/)."
    )


def test_a_part_of_a_web_page_is_source_code(read: Reader) -> None:
    template = "<template><p>{{ hello }}</p></template><script>export default {}</script>"
    assert read.text(template.encode()) == template


@pytest.mark.parametrize("content", [b"\x00\x01\x02\x03" * 500, b"\x7fELF" + bytes(range(256)) * 9])
def test_binary_is_refused_and_the_sentence_names_what_is_read(
    read: Reader, content: bytes
) -> None:
    assert read.refusal(content, "notes.txt") == (
        "Files of this kind cannot be read."
        " Attach a PDF, an image, an Office document, a mail, an e-book or a text file instead."
    )


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"", "This file is empty."),
        (b" \n\t\n", "This file is empty."),
        (b"\x1f\x8b\x08 gzip", "Archives are not opened. Attach the files in it one by one."),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument\0".encode("utf-16-le"),
            "Save the file as .docx",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "Workbook\0".encode("utf-16-le"),
            "Save the file as .xlsx",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "PowerPoint Document\0".encode("utf-16-le"),
            "as .pptx",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage\0".encode("utf-16-le"),
            "is encrypted",
        ),
        (files.build_zip({"a.txt": "hello"}), "Archives are not opened."),
        (
            files.build_zip({"mimetype": "application/x-krita"}),
            "Files of this kind cannot be read.",
        ),
        (files.build_zip({"Index/Document.iwa": "x"}), "Apple iWork files cannot be read."),
        (b"Book".ljust(60, b"\0") + b"BOOKMOBI", "Save the file as .epub"),
        (b"\x78\x9f\x3e\x22\1\0", "Outlook winmail.dat files cannot be read."),
    ],
)
def test_other_files_are_refused_with_what_to_do(
    read: Reader, content: bytes, refusal: str
) -> None:
    assert refusal in read.refusal(content)


def test_a_page_that_is_mostly_pictures_is_read(read: Reader) -> None:
    page = files.data_page(files.image("PNG", (60, 40)), "first")
    document = read.document(
        b"\n" + page.encode() + b"<!--" + b"x" * 50_000 + b"-->", characters=500
    )
    assert len(document.pictures) == 1


def test_many_comments_before_a_text_cost_nothing() -> None:
    text = "<!-- comment -->\n" * 40 + "text"
    assert WEB_PAGE.match(text) is None
    assert SVG.match(text) is None
