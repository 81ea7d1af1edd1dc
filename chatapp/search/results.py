"""Search results: conversations with their passages, those with matching titles first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from chatapp.models import Conversation, Message, Project, User
from chatapp.models.search.full_text import Hit, find
from chatapp.models.search.search_entries import SAID, TITLE, first_id
from chatapp.search.forms import SearchQuery, any_of
from chatapp.search.passages import Passage, passage_of
from chatapp.search.spelling_patterns import Segment, SpellingPatterns
from chatapp.text.indexing import fold

TITLES, HITS = 6, 60
CONVERSATIONS = 16
PASSAGES = 3  # per conversation
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)


@dataclass
class FoundConversation:
    """A conversation with matches."""

    conversation: Conversation
    title: list[Segment]
    passages: list[Passage] = field(default_factory=list)
    more: int = 0  # matches on this page that are not shown


@dataclass(frozen=True)
class Results:
    found: Sequence[FoundConversation]
    older: int | None = None  # the `until` of the next page, if there may be one


def results(
    user: User, wanted: SearchQuery, until: int | None = None, conversation: UUID | None = None
) -> Results:
    """Return the person's newest results.

    `until` continues a former page with older results. `conversation` limits the search to one
    conversation, with all its passages.
    """
    if wanted.is_nothing:
        return Results([])
    ids = _ids(wanted, until)
    projects = _projects(user, wanted.project) if wanted.project else None
    hits = find(user.pk, wanted.expression, HITS, ids, projects, conversation=conversation)
    titles: list[Hit] = []
    if until is None and conversation is None and wanted.terms and not wanted.marks:
        expression = [any_of(TITLE), *wanted.terms]
        titles = find(user.pk, expression, TITLES, ids, projects, in_titles=True)
    chosen = _chosen([*titles, *hits])
    older = hits[-1].id if len(hits) == HITS else None
    if len(chosen) < len(titles) + len(hits):
        older = min((hit.id for hit in chosen[len(titles) :]), default=older)
    most = HITS if conversation else PASSAGES
    return Results(_grouped(user, chosen, SpellingPatterns(wanted.terms), most), older)


def _chosen(hits: Sequence[Hit]) -> list[Hit]:
    """Return the first hits, up to the number of conversations on a page."""
    conversations: set[UUID] = set()
    for number, hit in enumerate(hits):
        conversations.add(hit.conversation)
        if len(conversations) > CONVERSATIONS:
            return list(hits[:number])
    return list(hits)


def recent(user: User, most: int) -> Results:
    """Return the most recent conversations, shown while nothing is typed."""
    listed = user.conversations.filter(trashed_at=None, archived_at=None, is_temporary=False)
    return Results([FoundConversation(one, [Segment(one.title, False)]) for one in listed[:most]])


def _ids(wanted: SearchQuery, until: int | None) -> tuple[int, int]:
    before = first_id(min(wanted.before or LATEST, LATEST))
    return first_id(max(wanted.after or EARLIEST, EARLIEST)), min(before, until or before)


def _projects(user: User, name: str) -> list[UUID]:
    """Return the projects with a word in their name that begins with `name`."""
    wanted, open_projects = fold(name), Project.objects.open_to(user)
    return [
        pk for pk, one in open_projects.values_list("pk", "name") if f" {wanted}" in f" {fold(one)}"
    ]


def _grouped(
    user: User, hits: Iterable[Hit], looks: SpellingPatterns, most: int
) -> list[FoundConversation]:
    in_order = list(dict.fromkeys(hits))
    conversations = user.conversations.in_bulk({hit.conversation for hit in in_order})
    shown = _shown(in_order, most)
    # By primary key only: with a filter by owner, SQLite would scan all messages of the person.
    messages = Message.objects.filter(deleted_at=None).only(*SAID).order_by().in_bulk(shown)
    groups: dict[UUID, FoundConversation] = {}
    for hit in in_order:
        conversation = conversations.get(hit.conversation)
        if conversation is None:
            continue
        group = groups.get(hit.conversation)
        if group is None:
            group = FoundConversation(conversation, looks.marked(conversation.title))
            groups[hit.conversation] = group
        message = messages.pop(hit.message, None) if hit.message else None
        if message and message.conversation_id == conversation.pk:
            group.passages.append(passage_of(message, looks))
        elif hit.message not in shown:
            group.more += 1
    return list(groups.values())


def _shown(hits: Iterable[Hit], most: int) -> set[UUID | None]:
    """Return the messages to show passages of: the first few of each conversation."""
    shown: dict[UUID, list[UUID]] = {}
    for hit in hits:
        some = shown.setdefault(hit.conversation, [])
        if hit.message and hit.message not in some and len(some) < most:
            some.append(hit.message)
    return {None}.union(*shown.values())
