"""Texts that cost far more than their size suggests, as a model or a person could send to block a
process.

A bomb is a reply, as the deltas of a stream, or a prompt. `scale` makes it larger or smaller: if
ten times the size costs ten times as much, the bomb is harmless; if it costs a hundred times as
much, it is not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Delta = dict[str, object]
MIB = 1024 * 1024


@dataclass(frozen=True)
class Bomb:
    """`text(scale)` is sent in deltas of `piece` characters, or in a single one if `piece` is 0."""

    text: Callable[[float], str]
    piece: int = 2000
    region: str = "content"  # or arguments, images, logprobs

    def deltas(self, scale: float = 1) -> Iterator[Delta]:
        text = self.text(scale)
        size = self.piece or len(text)
        for start in range(0, len(text), size):
            yield self._delta(text[start : start + size], is_first=not start)

    def _delta(self, text: str, *, is_first: bool) -> Delta:
        if self.region == "images":
            return {"images": [{"type": "image_url", "image_url": {"url": text}}]}
        if self.region == "logprobs":
            tops = [{"token": text, "logprob": -1.0, "bytes": None}] * 20
            return {"content": text, "logprobs": {"content": [{**tops[0], "top_logprobs": tops}]}}
        if self.region != "arguments":
            return {self.region: text}
        function: dict[str, str] = {"arguments": text}
        if is_first:
            function["name"] = "clock"
        return {"tool_calls": [{"index": 0, "id": "call_1", "function": function}]}


def repeat_unit(unit: str, characters: int) -> Callable[[float], str]:
    """Return a function that repeats the unit up to `characters` characters times the scale."""
    return lambda scale: unit * max(1, int(characters * scale) // len(unit))


def fence(language: str, filler: str, characters: int = 16_000) -> Callable[[float], str]:
    body = repeat_unit(filler, characters)
    return lambda scale: f"```{language}\n{body(scale)}\n```\n"


def _short_rows(scale: float) -> str:
    """Return a very wide header with very short rows, whose missing cells the parser fills in."""
    columns, rows = 2500, int(10_000 * scale)
    return "|a" * columns + "\n" + "|-" * columns + "\n" + "|\n" * rows


def _wide_table(scale: float) -> str:
    rows = int(1500 * scale)
    return "|a|b|c|d|e|f|\n|-|-|-|-|-|-|\n" + "|1|2|3|4|5|6|\n" * rows


def _definitions(scale: float) -> str:
    """Return one long address, used many times."""
    uses = int(6000 * scale)
    return "[a]: http://a.b/" + "x" * 12_000 + "\n\n" + "[a] " * uses


def _many_definitions(scale: float) -> str:
    """Return blocks that each use as many long definitions as allowed."""
    addresses = "".join(f"[{n}]: http://a.b/{'x' * 2000}\n" for n in range(50))
    uses = "".join(f"[{n}]" for n in range(50)) + "\n\n"
    return addresses + "\n" + uses * int(1000 * scale)


def _late_definition(scale: float) -> str:
    return "see [a] and *b*.\n\n" * int(10_000 * scale) + "[a]: http://a.b\n"


def _nested_lists(scale: float) -> str:
    return "\n".join("  " * min(depth, 4000) + "- a" for depth in range(int(2000 * scale)))


def formulas(characters: int, between: str = "\n\n") -> str:
    """Return formulas that are all different, several to a paragraph."""
    made: list[str] = []
    size = 0
    while size < characters:
        formula = rf"$\frac{{a_{{{len(made)}}}^2 + b_i}}{{\sqrt{{c}}}} + x^{{2y}}$ "
        made.append(formula if len(made) % 20 else formula + between)
        size += len(made[-1])
    return "".join(made)


# fmt: off
TEXTS: dict[str, Callable[[float], str]] = {
    "C# fence, 16 KB": fence("csharp", "a\t\n"),
    "C++ fence, 16 KB": fence("cpp", "\n"),
    "Perl fence, 16 KB": fence("perl", "<<a\n"),
    "20 slow fences": lambda scale: fence("csharp", "a\n", 15_000)(1) * int(20 * scale),
    "200 KB of formulas": lambda scale: formulas(int(200_000 * scale)),
    "200 KB of formulas in one line": lambda scale: formulas(int(200_000 * scale), ""),
    "one nested formula": repeat_unit("$$" + r"\sqrt{a" * 35 + "}" * 35 + "$$\n\n", 200_000),
    "table with short rows": _short_rows,
    "tables with short rows": lambda scale: (_short_rows(1) + "\n\n") * int(8 * scale),
    "long table": _wide_table,
    "endless newlines": repeat_unit("\n", 2 * MIB),
    "endless newlines in a list": lambda scale: "- a" + "\n" * int(2 * MIB * scale) + "  b",
    "definition bomb, 25 KB": _definitions,
    "definition bomb, 200 KB": _many_definitions,
    "late definition": _late_definition,
    "deep quotes": repeat_unit("> ", 200_000),
    "deep quotes in lines": repeat_unit(">" * 500 + " a\n", 200_000),
    "deep lists": _nested_lists,
    "emphasis openers": repeat_unit("*a _b ", 200_000),
    "emphasis in blocks": repeat_unit("*a **b " * 1000 + "\n\n", 200_000),
    "link openers": repeat_unit("[a](", 200_000),
    "link openers in blocks": repeat_unit("[a](<b" * 1500 + "\n\n", 200_000),
    "brackets in blocks": repeat_unit("[" * 15_000 + "a" + "]" * 15_000 + "\n\n", 200_000),
    "entities": repeat_unit("&quot;&lt;", 200_000),
    "backticks": lambda scale: " ".join("`" * (i % 300) for i in range(int(1500 * scale))),
    "a very long line": repeat_unit("word ", 1 * MIB),
    "autolinks": repeat_unit("www.a.bc ", 200_000),
    "autolinks in one word": repeat_unit("a@b.cd:", 200_000),
    "addresses in blocks": repeat_unit("http://" * 2000 + "\n\n", 200_000),
    "short blocks": repeat_unit("a\n\n", 600_000),
    "short headings": repeat_unit("# a\n", 600_000),
    "short lines of a list": repeat_unit("- a\n", 600_000),
    "hard spaces": repeat_unit("\xa0<&", 600_000),
    "dollars": repeat_unit("$a ", 200_000),
    "one word": repeat_unit("a", 2 * MIB),
}
THINK = "Let me *think* about this, step by step.\n\n"
REPLIES: dict[str, Bomb] = {
    **{name: Bomb(text) for name, text in TEXTS.items()},
    "8 MB think": Bomb(lambda scale: "<think>" + repeat_unit(THINK, 8_000_000)(scale)),
    "8 MB think, 1 MiB deltas": Bomb(
        lambda scale: "<think>" + repeat_unit(THINK, 8_000_000)(scale), 900_000
    ),
    "8 MB answer that was thought": Bomb(
        lambda scale: repeat_unit(THINK, 8_000_000)(scale) + "</think>a", 900_000
    ),
    "1 MB think in tiny deltas": Bomb(
        lambda scale: "<think>" + repeat_unit(THINK, 1_000_000)(scale), 5
    ),
    "8 MB of arguments": Bomb(
        lambda scale: '{"a": "' + "x" * int(8_000_000 * scale) + '"}', 900_000, "arguments"
    ),
    "2 MB of arguments in tiny deltas": Bomb(
        lambda scale: '{"a": "' + "x" * int(2_000_000 * scale) + '"}', 20, "arguments"
    ),
    "an image of 11 MB": Bomb(
        lambda scale: "data:image/png;base64,iVBORw0KGgo" + "A" * int(15_000_000 * scale) + "A", 0,
        "images",
    ),
    "20,000 tokens with logprobs": Bomb(repeat_unit("word ", 100_000), 5, "logprobs"),
}
# fmt: on
MAX_PROMPT_LENGTH = 200_000


def _as_prompt(text: Callable[[float], str]) -> Callable[[float], str]:
    return lambda scale: text(scale)[:MAX_PROMPT_LENGTH]


PROMPTS = {name: _as_prompt(text) for name, text in TEXTS.items()}
