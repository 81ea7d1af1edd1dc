# ruff: noqa: E501  one paragraph per line, as models send it
"""Texts that show what rendering can do, sent by the demo on request."""

from dataclasses import dataclass, replace

from chatapp.demo.article import ARTICLE
from chatapp.demo.failures import REFUSAL
from chatapp.demo.picture import dusk
from chatapp.demo.script import Script

TABLE = """Here is a table with a column aligned each way.

| Planet | Day, in hours | Moons | Known for |
|:---|---:|---:|:---:|
| Mercury | 4,222.6 | 0 | the shortest year |
| Venus | 2,802.0 | 0 | turning the other way |
| Earth | 24.0 | 1 | **you are here** |
| Mars | 24.7 | 2 | *Olympus Mons* |

A cell can contain `code`, **bold** and *italic* text, and [links](/help/)."""

CODE = """Here is the same small thing, counting words, in three languages.

```python
from collections import Counter


def most_common(text: str, n: int = 3) -> list[tuple[str, int]]:
    \"\"\"The n most frequent words of a text.\"\"\"
    return Counter(text.lower().split()).most_common(n)
```

```javascript
export function mostCommon(text, n = 3) {
  const counts = new Map();
  for (const word of text.toLowerCase().split(/\\s+/)) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, n);
}
```

```sql
SELECT word, count(*) AS times
FROM words
GROUP BY word
ORDER BY times DESC
LIMIT 3;
```

Inline code looks like `most_common("to be or not to be")`."""

MATH = r"""Here is some mathematics. Inline, Euler's identity is $e^{i\pi} + 1 = 0$, and on a line of its own, the solutions of a quadratic equation are

$$x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$$

The area under a bell curve, a sum and a matrix:

$$\int_{-\infty}^{\infty} e^{-x^2}\,dx = \sqrt{\pi}$$

$$\sum_{k=1}^{n} k = \frac{n(n+1)}{2}$$

$$\begin{pmatrix} \cos\theta & -\sin\theta \\ \sin\theta & \cos\theta \end{pmatrix}$$"""

PROSE = """A paragraph can have **bold**, *italic* and ~~struck~~ words, `code`, a [link](https://commonmark.org/) and a bare address such as https://www.djangoproject.com/.

> A quotation is set apart,
>
> > and can contain another.

1. Numbered lists count for themselves.
2. They can contain other lists:
   - one level down,
     - and one more;
   - and back again.
3. And they go on.

- [x] A task that is done
- [ ] A task that is not

Other scripts are at home here too: Ελληνικά, Русский, 日本語, العربية, and 🙂.

---"""

CONFIDENCE = """Some gateways report how likely each token was. Open **Confidence** below this reply: if the gateway was asked for `logprobs`, it shows every token with its probability and the likely alternatives.

A character such as é, 日 or 🙂 can be split over two tokens; it is shown as one. The demo's figures are made up, but they are the same every time."""

MODERATION = """A gateway can moderate prompts and answers. With the model `demo-openai`, a moderation result comes with this reply: it says that the question was flagged, although there is nothing wrong with it, and that the answer could not be checked. The demo's other models send none."""

SOURCES = """Models that search the web name their sources. Markdown is specified by CommonMark [1], and this app is built with Django [2]; both appear below this answer as links.

The demo has not searched anything: these two sources are always the same."""

PICTURE = """Some models draw. The picture below this answer was sent with it and is saved with the chat: it shows hills at dusk and was computed by the demo."""

EVERYTHING = "\n\n".join(
    [
        "Here is a little of everything.",
        *("## Words", PROSE),
        *("## A table", TABLE),
        *("## Code", CODE),
        *("## Mathematics", MATH),
    ]
)


@dataclass(frozen=True, slots=True)
class Showpiece:
    """A script, and the `thought` with which a reasoning model introduces it."""

    thought: str
    script: Script


ANNOTATIONS = [
    {"type": "url_citation", "url_citation": {"url": url, "title": title}}
    for url, title in (
        ("https://commonmark.org/", "CommonMark"),
        ("https://www.djangoproject.com/", "The web framework for perfectionists with deadlines"),
    )
]
NOT_SEARCHED = "The demo has not searched the web for this: its two sources are always the same."
IMAGES = [{"type": "image_url", "image_url": {"url": dusk()}}]


def add_citations(script: Script) -> Script:
    """Return the script as if the web had been searched for its answer."""
    if script.beside or not script.answer:
        return script
    answer = f"{script.answer}\n\n{NOT_SEARCHED}"
    return replace(script, answer=answer, beside={"annotations": ANNOTATIONS})


SHOWPIECES = {
    "everything": Showpiece(
        "Words first, then a table, code and mathematics, each under its own heading.",
        Script(EVERYTHING),
    ),
    "table": Showpiece(
        "A table needs columns of different kinds: words, numbers aligned at the right, and something in the middle.",
        Script(TABLE),
    ),
    "code": Showpiece(
        "Code is best compared when each language does the same small job, and counting words is short enough.",
        Script(CODE),
    ),
    "math": Showpiece(
        "For mathematics, one formula within a line and a few on their own: a fraction, an integral, a sum, a matrix.",
        Script(MATH),
    ),
    "long": Showpiece(
        "A long answer should be worth reading, so I will explain how such an answer gets to the screen.",
        Script(ARTICLE),
    ),
    "confidence": Showpiece(
        "Token probabilities are most interesting for a character that is split over two tokens.",
        Script(CONFIDENCE),
    ),
    "moderation": Showpiece(
        "The moderation result comes next to the answer, so the answer only has to explain it.",
        Script(MODERATION, is_moderated=True),
    ),
    "sources": Showpiece(
        "Two sources are enough, and both should be worth a visit.",
        Script(SOURCES, beside={"annotations": ANNOTATIONS}),
    ),
    "picture": Showpiece(
        "A picture needs no words of mine, only a sky, a sun and some hills.",
        Script(PICTURE, beside={"images": IMAGES}),
    ),
    "refusal": Showpiece("I was asked to refuse, so no reason is needed.", REFUSAL),
}

# Other words that people use for the showpieces.
ALIASES = {
    "all": "everything",
    "tables": "table",
    "python": "code",
    "javascript": "code",
    "sql": "code",
    "maths": "math",
    "mathematics": "math",
    "formula": "math",
    "formulas": "math",
    "equation": "math",
    "equations": "math",
    "article": "long",
    "essay": "long",
    "logprobs": "confidence",
    "moderated": "moderation",
    "refuse": "refusal",
    "citations": "sources",
    "image": "picture",
    "images": "picture",
    "drawing": "picture",
}
