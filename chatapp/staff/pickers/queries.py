"""Queries for suggestions. Each returns only a few options, whatever there is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Case, Count, Q, Value, When
from django.template.defaultfilters import pluralize

from chatapp import catalogue
from chatapp.models import Upstream, User

MOST = 8  # options of one answer
MAX_WORDS = 8
MAX_CHATS = 1000  # of one person, the newest, that are searched by date


@dataclass(frozen=True)
class Option:
    """What the field gets, and how it is shown."""

    value: str
    name: str
    about: str = ""
    provider: int | None = None  # of a model


def named(words: str) -> Q:
    """Return a condition: each word is part of a person's username, names or address."""
    found = Q()
    for word in words.split()[:MAX_WORDS]:
        found &= (
            Q(username__icontains=word)
            | Q(email__icontains=word)
            | Q(first_name__icontains=word)
            | Q(last_name__icontains=word)
        )
    return found


def people(words: str) -> list[Option]:
    """Return the people whom the words name, those first whose names begin with them."""
    begins = Q(username__istartswith=words) | Q(first_name__istartswith=words)
    begins |= Q(last_name__istartswith=words)
    rank = Case(
        When(username__iexact=words, then=Value(0)), When(begins, then=Value(1)), default=Value(2)
    )
    found = User.objects.filter(named(words)).order_by(rank, "username")[:MOST]
    return [Option(one.username, one.display_name, _about(one)) for one in found]


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
    known = _models(upstreams.filter(pk=provider) if provider else upstreams)
    wanted = words.casefold().split()[:MAX_WORDS]
    found = [
        one
        for one in known
        if all(word in f"{one.value} {one.name} {one.about}".casefold() for word in wanted)
    ]
    begin = words.casefold()
    return sorted(found, key=lambda one: not one.value.casefold().startswith(begin))[:MOST]


def _models(upstreams: Iterable[Upstream]) -> Iterator[Option]:
    for upstream in upstreams:
        for model in catalogue.known_models(upstream):
            name = catalogue.name_of(upstream, model)
            about = upstream.name if name == model else f"{model}, {upstream.name}"
            yield Option(model, name, about, upstream.pk)


def chats(person: User, words: str) -> list[Option]:
    """Return a person's chats by their dates and ID, the newest first, and never by their words."""
    rows = person.conversations.order_by("-created_at").values_list("pk", "created_at")
    found = []
    for pk, started_at in rows[:MAX_CHATS]:
        name = f"Chat of {started_at.day} {started_at:%b %Y %H:%M} UTC"
        if all(word in f"{name} {pk}".casefold() for word in words.casefold().split()):
            found.append((pk, name))
        if len(found) == MOST:
            break
    counted = person.conversations.filter(pk__in=[pk for pk, _ in found])
    messages = dict(counted.annotate(n=Count("messages")).values_list("pk", "n"))
    return [
        Option(str(pk), name, f"{messages[pk]} message{pluralize(messages[pk])}, {pk}")
        for pk, name in found
    ]
