"""An answer as models write them, and pieces for random text."""

ANSWER = """# How it works

Hello **world**, with `code`, *emphasis*, a [link](https://example.com/path) and $a^2 < b$ for $5.
Second line of the paragraph; see https://example.com/x<br> or www.example.com.

1. **First**: run `pip install thing`
2. Then:
   ```bash
   # not a heading
   export A=$HOME/$USER
   ```
   - nested *item*
   - another

- [x] done
- [ ] to do ~~gone~~

| Name | Value |
|------|:-----:|
| **a** | `b` |
| c | |

```python
def add(a: int, b: int) -> int:
    return a + b  # "sum" < 1 & 2
```
$$
\\frac{a}{b} = - c
$$

![chart](https://example.com/chart.png) and <b>raw</b> & <https://example.org>.

> quoted
> lines

Setext heading
---
Uses [a definition] that comes later, or \\(x\\) and snake_case_word.

***

[a definition]: https://example.com/later
"""

# fmt: off
PIECES = [
    "**", "*", "__", "_", "`", "``", "```", "~~", "[", "](", "](http://a.b)", "]", "!", "![", "<",
    ">", "<b>", "</b>", "<script>", "&", "&amp;", "&lt", ";", "|", "---", "===", "$", "$$", "\\(",
    "\\)", "\\[", "\\]", "\\", "x^2", "\\frac{a}{b}", "a", "word", "Hello", "5", "10", ".", ",",
    ":", "http://x.y", "www.a.b", "a@b.cd", "é", "日本", "/", "=", "+", "{", "}", "%", '"', "'",
    "<https://a.b>", " ", "  ", "    ", "\t", "\n", "\n", "\n\n", "  \n", "\r\n", "\r", "\0",
    "\ud800", "\ufdd0", "\xa0", "- ", "* ", "1. ", "2. ", "10) ", "# ", "### ", "> ", "- [x] ",
    "[x] ", "\n---\n", "```py\n", "\n```\n", "~~~\n", "| a | b |\n|---|---|\n",
    "[foo]: http://q.r\n", "[foo]",
]
# fmt: on
