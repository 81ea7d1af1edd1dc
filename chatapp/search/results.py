"""Search results: conversations with their passages, those with matching titles first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from chatapp.models import Conversation, Message, Project, User
from chatapp.models.search.full_text import Hit, find
from chatapp.models.search.search_entries import LOADED_FIELDS, TITLE, first_id
from chatapp.search.forms import SearchQuery, build_mark_term
from chatapp.search.passages import Passage, find_passage
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
    conversations: Sequence[FoundConversation]
    older: int | None = None  # the `until` of the next page, if there may be one


def find_results(
    user: User, query: SearchQuery, until: int | None = None, conversation: UUID | None = None
) -> Results:
    """Return the person's newest results.

    `until` continues a former page with older results. `conversation` limits the search to one
    conversation, with all its passages.
    """
    if query.is_empty:
        return Results([])
    ids = _get_id_range(query, until)
    projects = _find_projects(user, query.project) if query.project else None
    hits = find(user.pk, query.expression, HITS, ids, projects, conversation=conversation)
    titles: list[Hit] = []
    if until is None and conversation is None and query.terms and not query.marks:
        expression = [build_mark_term(TITLE), *query.terms]
        titles = find(user.pk, expression, TITLES, ids, projects, in_titles=True)
    chosen = _limit_hits([*titles, *hits])
    older = hits[-1].id if len(hits) == HITS else None
    if len(chosen) < len(titles) + len(hits):
        older = min((hit.id for hit in chosen[len(titles) :]), default=older)
    limit = HITS if conversation else PASSAGES
    return Results(_group_hits(user, chosen, SpellingPatterns(query.terms), limit), older)


def _limit_hits(hits: Sequence[Hit]) -> list[Hit]:
    """Return the first hits, up to the number of conversations on a page."""
    conversations: set[UUID] = set()
    for number, hit in enumerate(hits):
        conversations.add(hit.conversation)
        if len(conversations) > CONVERSATIONS:
            return list(hits[:number])
    return list(hits)


def load_recent(user: User, limit: int) -> Results:
    """Return the most recent conversations, shown while nothing is typed."""
    listed = user.conversations.filter(trashed_at=None, archived_at=None, is_temporary=False)
    return Results(
        [
            FoundConversation(conversation, [Segment(conversation.title, False)])
            for conversation in listed[:limit]
        ]
    )


def _get_id_range(query: SearchQuery, until: int | None) -> tuple[int, int]:
    before = first_id(min(query.before or LATEST, LATEST))
    return first_id(max(query.after or EARLIEST, EARLIEST)), min(before, until or before)


def _find_projects(user: User, name: str) -> list[UUID]:
    """Return the projects with a word in their name that begins with `name`."""
    prefix, open_projects = fold(name), Project.objects.open_to(user)
    return [
        pk
        for pk, project_name in open_projects.values_list("pk", "name")
        if f" {prefix}" in f" {fold(project_name)}"
    ]


def _group_hits(
    user: User, hits: Iterable[Hit], looks: SpellingPatterns, limit: int
) -> list[FoundConversation]:
    in_order = list(dict.fromkeys(hits))
    conversations = user.conversations.in_bulk({hit.conversation for hit in in_order})
    shown_messages = _choose_shown_messages(in_order, limit)
    # By primary key only: with a filter by owner, SQLite would scan all messages of the person.
    messages = (
        Message.objects.filter(deleted_at=None)
        .only(*LOADED_FIELDS)
        .order_by()
        .in_bulk(shown_messages)
    )
    groups: dict[UUID, FoundConversation] = {}
    for hit in in_order:
        conversation = conversations.get(hit.conversation)
        if conversation is None:
            continue
        group = groups.get(hit.conversation)
        if group is None:
            group = FoundConversation(conversation, looks.mark_matches(conversation.title))
            groups[hit.conversation] = group
        message = messages.pop(hit.message, None) if hit.message else None
        if message and message.conversation_id == conversation.pk:
            group.passages.append(find_passage(message, looks))
        elif hit.message not in shown_messages:
            group.more += 1
    return list(groups.values())


def _choose_shown_messages(hits: Iterable[Hit], limit: int) -> set[UUID | None]:
    """Return the messages to show passages of: the first few of each conversation."""
    by_conversation: dict[UUID, list[UUID]] = {}
    for hit in hits:
        some = by_conversation.setdefault(hit.conversation, [])
        if hit.message and hit.message not in some and len(some) < limit:
            some.append(hit.message)
    return {None}.union(*by_conversation.values())
