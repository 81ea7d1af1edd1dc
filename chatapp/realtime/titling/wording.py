"""Writes the request for a title and finds the title in the answer. Pure.

The answer is untrusted text. The title is one short line without markup, invisible characters or
bidirectional controls.
"""

import re
import unicodedata

from django.utils.text import Truncator

from chatapp.text.visible import is_blank

MAX_LENGTH = 60  # characters of a title
MAX_READ = 1000  # characters of the prompt and of the answer: titles are about how a chat begins

REQUEST = """Write a title for the conversation below: at most six words, in the language of the \
person's message, as plain text without quotation marks and without a full stop. Answer with the \
title alone.

<message>
{prompt}
</message>

<answer>
{answer}
</answer>"""

JOINERS = "\u200c\u200d"  # invisible, but needed by Persian and by emoji
PREFIX = re.compile(
    r"^(title|titel|titre|t[ií]tulo|titolo|제목|标题|標題|タイトル)\s*[:：]\s*",
    re.IGNORECASE,
)
MARKED = re.compile(r"^(\*{1,3}|_{1,3}|~~|`+)(?P<inside>.+)\1$")
QUOTED = re.compile(r"""^["'“”„«»‹›‘’‚「『《](?P<inside>.+)["'“”„«»‹›‘’」』》]$""")  # noqa: RUF001
BEFORE = re.compile(r"^(#{1,6}|[>•*-])\s+")
AFTER = re.compile(r"[\s.。．｡]+$")  # noqa: RUF001 - full stops of several scripts


def build_messages(prompt: str, answer: str) -> list[dict[str, object]]:
    """Return the request as one user message, since some servers accept no system message."""
    text = REQUEST.format(prompt=prompt[:MAX_READ].strip(), answer=answer[:MAX_READ].strip())
    return [{"role": "user", "content": text}]


def extract_title(answer: str) -> str:
    """Return the title in an answer; "" if there is none."""
    lines = (_bare(line) for line in answer.splitlines())
    title = next(filter(None, lines), "")
    return Truncator(title).chars(MAX_LENGTH)[:MAX_LENGTH]  # it does not count combining characters


def _bare(line: str) -> str:
    """Return a line without invisible characters, markup, quotation marks and prefixes."""
    visible = "".join(filter(_is_visible, unicodedata.normalize("NFC", line)))
    bare, before = " ".join(visible.split()), None
    while bare != before:
        before = bare
        bare = AFTER.sub("", PREFIX.sub("", BEFORE.sub("", bare)))
        for around in (MARKED, QUOTED):
            if match := around.match(bare):
                bare = match["inside"].strip()
    return (
        bare if any(character.isalnum() and not is_blank(character) for character in bare) else ""
    )


def _is_visible(character: str) -> bool:
    return character in JOINERS or character == "\t" or unicodedata.category(character)[0] != "C"
