"""What a model is asked for a title, and what of its answer may be one. Pure.

An answer is a stranger's text: what comes of it is one short line without markup, without
characters that nobody sees, and without those that turn the text around them.
"""

import re
import unicodedata

from django.utils.text import Truncator

from chatapp.seen import is_blank

LONGEST = 60  # characters of a title
MOST_READ = 1000  # characters of a prompt, and of an answer: titles are about how things begin

ASKED = """Write a title for the conversation below: at most six words, in the language of the \
person's message, as plain text without quotation marks and without a full stop. Answer with the \
title alone.

<message>
{prompt}
</message>

<answer>
{answer}
</answer>"""

JOINERS = "\u200c\u200d"  # which Persian and emoji need
PREFIX = re.compile(
    r"^(title|titel|titre|t[ií]tulo|titolo|제목|标题|標題|タイトル)\s*[:：]\s*",
    re.IGNORECASE,
)
MARKED = re.compile(r"^(\*{1,3}|_{1,3}|~~|`+)(?P<inside>.+)\1$")
QUOTED = re.compile(r"""^["'“”„«»‹›‘’‚「『《](?P<inside>.+)["'“”„«»‹›‘’」』》]$""")  # noqa: RUF001
BEFORE = re.compile(r"^(#{1,6}|[>•*-])\s+")
AFTER = re.compile(r"[\s.。．｡]+$")  # noqa: RUF001 - full stops of other scripts


def messages_for(prompt: str, answer: str) -> list[dict[str, object]]:
    """In one message: there are servers that take none of a system."""
    asked = ASKED.format(prompt=prompt[:MOST_READ].strip(), answer=answer[:MOST_READ].strip())
    return [{"role": "user", "content": asked}]


def title_in(answer: str) -> str:
    """The title that an answer gives; "" where there is none."""
    lines = (_bare(line) for line in answer.splitlines())
    title = next(filter(None, lines), "")
    return Truncator(title).chars(LONGEST)[:LONGEST]  # it counts no combining characters


def _bare(line: str) -> str:
    seen = "".join(filter(_is_seen, unicodedata.normalize("NFC", line)))
    bare, before = " ".join(seen.split()), None
    while bare != before:
        before = bare
        bare = AFTER.sub("", PREFIX.sub("", BEFORE.sub("", bare)))
        for around in (MARKED, QUOTED):
            if found := around.match(bare):
                bare = found["inside"].strip()
    return bare if any(one.isalnum() and not is_blank(one) for one in bare) else ""


def _is_seen(character: str) -> bool:
    return character in JOINERS or character == "\t" or unicodedata.category(character)[0] != "C"
