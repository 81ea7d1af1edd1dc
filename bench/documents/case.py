"""A small document and the words that must arrive of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    format: str  # the row of the table, such as "Word"
    name: str  # what is special about it, such as "text boxes"
    content: bytes
    words: str  # the text that must arrive, in its order of reading
