"""The names of tools as people read them: servers' titles, or the names for models in words."""

import re
from dataclasses import dataclass
from functools import lru_cache

# As `name_for_model` in chatapp/tools makes them: the server, "__", its own name of the tool.
_FORM = re.compile(r"(?:(?P<server>[a-z0-9]+(?:-[a-z0-9]+)*)__)?(?P<tool>[A-Za-z0-9_.-]+)")
_DIGEST = re.compile(r"_[0-9a-f]{8}\Z")  # ends a name that models can't be given as it is
_BREAK = re.compile(r"[_.-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class ReadableName:
    """A tool's name in words."""

    words: str
    server: str = ""  # also in words; empty for a tool that is built in
    identifier: str = ""  # the name for models; empty if `words` is that, which may be any text


@lru_cache(maxsize=256)  # each change of a call draws it again
def readable_name(name: str, title: str = "") -> ReadableName:
    """Return `wiki__search_pages` as "Search pages" of "Wiki", or as its title of "Wiki".

    A name of another form, which only models and imported chats have, stays as it is.
    """
    form = _FORM.fullmatch(name)
    words = title or (in_words(_DIGEST.sub("", form["tool"])) if form else name)
    if form is None or not words:
        return ReadableName(name or "Tool")
    return ReadableName(words, in_words(form["server"] or ""), name)


def in_words(identifier: str) -> str:
    """Return the words of snake_case, kebab-case or camelCase, without changing abbreviations."""
    words = [part if _is_abbreviation(part) else part.lower() for part in _BREAK.split(identifier)]
    sentence = " ".join(filter(None, words))
    return sentence[:1].upper() + sentence[1:]


def _is_abbreviation(word: str) -> bool:
    return len(word) > 1 and word.isupper()
