"""Queries for suggestions. Each returns only a few options, whatever there is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Case, Count, Q, Value, When
from django.template.defaultfilters import pluralize

from chatapp import catalogue
from chatapp.models import Upstream, User

MAX_OPTIONS = 8  # options of one answer
MAX_WORDS = 8
MAX_CHATS = 1000  # of one person, the newest, that are searched by date


@dataclass(frozen=True)
class Option:
    """One option of a picker: the value that the field gets, and how it is shown."""

    value: str
    name: str
    about: str = ""
    provider: int | None = None  # of a model


def build_name_condition(words: str) -> Q:
    """Return a condition: each word is part of a person's username, names or address."""
    condition = Q()
    for word in words.split()[:MAX_WORDS]:
        condition &= (
            Q(username__icontains=word)
            | Q(email__icontains=word)
            | Q(first_name__icontains=word)
            | Q(last_name__icontains=word)
        )
    return condition


def people(words: str) -> list[Option]:
    """Return the people whom the words name, those first whose names begin with them."""
    begins = Q(username__istartswith=words) | Q(first_name__istartswith=words)
    begins |= Q(last_name__istartswith=words)
    rank = Case(
        When(username__iexact=words, then=Value(0)), When(begins, then=Value(1)), default=Value(2)
    )
    matches = User.objects.filter(build_name_condition(words)).order_by(rank, "username")[
        :MAX_OPTIONS
    ]
    return [Option(person.username, person.display_name, _about(person)) for person in matches]


def _about(person: User) -> str:
    facts = [
        person.username if person.get_full_name() else "",
        person.email,
        "" if person.is_active else "deactivated",
    ]
    return ", ".join(filter(None, facts))


def models(words: str, provider: int | None = None) -> list[Option]:
    """Return the known models whose ID, name or provider has each of the words."""
    upstreams = Upstream.objects.order_by("name")
    options = _models(upstreams.filter(pk=provider) if provider else upstreams)
    keywords = words.casefold().split()[:MAX_WORDS]
    matches = [
        option
        for option in options
        if all(
            word in f"{option.value} {option.name} {option.about}".casefold() for word in keywords
        )
    ]
    begin = words.casefold()
    return sorted(matches, key=lambda option: not option.value.casefold().startswith(begin))[
        :MAX_OPTIONS
    ]


def _models(upstreams: Iterable[Upstream]) -> Iterator[Option]:
    for upstream in upstreams:
        for model in catalogue.known_models(upstream):
            name = catalogue.get_display_name(upstream, model)
            about = upstream.name if name == model else f"{model}, {upstream.name}"
            yield Option(model, name, about, upstream.pk)


def chats(person: User, words: str) -> list[Option]:
    """Return a person's chats by their dates and ID, the newest first, and never by their words."""
    rows = person.conversations.order_by("-created_at").values_list("pk", "created_at")
    matches = []
    for pk, started_at in rows[:MAX_CHATS]:
        name = f"Chat of {started_at.day} {started_at:%b %Y %H:%M} UTC"
        if all(word in f"{name} {pk}".casefold() for word in words.casefold().split()):
            matches.append((pk, name))
        if len(matches) == MAX_OPTIONS:
            break
    counted = person.conversations.filter(pk__in=[pk for pk, _ in matches])
    messages = dict(counted.annotate(n=Count("messages")).values_list("pk", "n"))
    return [
        Option(str(pk), name, f"{messages[pk]} message{pluralize(messages[pk])}, {pk}")
        for pk, name in matches
    ]
