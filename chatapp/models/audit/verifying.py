"""Reads the whole log and says whether it is as it was written, and where it is not."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Self

from chatapp.models.audit import chain, keys
from chatapp.models.audit.erasing import NAMES_OTHERS
from chatapp.models.audit.events import ONLY, AuditDetail, AuditEvent, AuditHead
from chatapp.models.locks import only_one_process

AT_ONCE = 1000
LOCK = "audit"  # nothing is pruned while it is verified


class Broken(Exception):
    """The log is not as it was written; the sentence says where."""


class Head(NamedTuple):
    """Where a log ended once: what a backup or the app's own log says of it."""

    sequence: int
    link: str

    def __str__(self) -> str:
        return f"{self.sequence}:{self.link}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """What `str` made of one; None where it is none."""
        sequence, _, link = text.strip().partition(":")
        is_one = sequence.isdecimal() and len(link) == len(chain.GENESIS)
        return cls(int(sequence), link) if is_one else None


@dataclass
class Verdict:
    """What was found in a log that holds."""

    events: int = 0
    first: AuditEvent | None = None
    last: AuditEvent | None = None
    erased: int = 0
    old_keys: int = 0  # events whose own key is gone: those after them vouch for them
    head: Head = field(default_factory=lambda: Head(0, chain.GENESIS))

    @property
    def since(self) -> datetime | None:
        return self.first.at if self.first else None

    @property
    def until(self) -> datetime | None:
        return self.last.at if self.last else None


def head_now() -> Head:
    """Where the log ends, as it says itself."""
    found = AuditHead.objects.filter(pk=ONLY).first()
    return Head(found.sequence, found.link) if found else Head(0, chain.GENESIS)


def verify(expected: Collection[Head] = ()) -> Verdict:
    """Raises `Broken`; also where the log does not have these heads of before in it."""
    with only_one_process(LOCK):
        head = AuditHead.objects.filter(pk=ONLY).first()
        if head is None:
            if AuditEvent.objects.exists() or any(one.sequence for one in expected):
                raise Broken("The log's head is missing.")
            return Verdict()
        return _Reading(head, expected).verdict()


class _Reading:
    def __init__(self, head: AuditHead, expected: Collection[Head]) -> None:
        self._head = head
        self._expected = {one.sequence: one.link for one in expected}
        self._keys = keys.known()
        self._found = Verdict(head=Head(head.sequence, head.link))
        self._unchecked: int | None = None  # the first of those for which nothing vouches yet
        self._pruned_to = 0
        self._erased: dict[tuple[int | None, int | None], int] = {}  # where each of these last is
        self._erased_people: set[int] = set()
        self._emptied_to = 0

    def verdict(self) -> Verdict:
        self._check_head()
        number, link = None, None
        for event in events_between(self._head.pruned_to, self._head.sequence):
            if number is None:
                self._found.first = event
            elif event.sequence != number + 1:
                raise Broken(f"After event {number} the next one is missing.")
            elif not chain.is_same(event.previous, link or ""):
                raise Broken(f"Event {event.sequence} does not follow the one before it.")
            self._check(event)
            number, link = event.sequence, event.link
            self._check_expected(number, link)
            self._found.last = event
        self._check_ends(link or chain.GENESIS)
        self._check_erased()
        return self._found

    def _check_head(self) -> None:
        head, secret = self._head, self._keys.get(self._head.key)
        if secret is None:
            raise Broken("The log's head is signed with a key that is not known any more.")
        args = head.sequence, head.link, head.pruned_to, head.key
        if not chain.is_same(head.mac, chain.signature_of_head(secret, *args)):
            raise Broken("The log's head was changed.")
        for sequence in self._expected:
            if sequence > head.sequence:
                raise Broken(
                    f"The log ends with event {head.sequence}, and once had event {sequence}: "
                    "its end was cut off."
                )

    def _check(self, event: AuditEvent) -> None:
        self._found.events += 1
        self._check_signature(event)
        self._check_detail(event)
        if event.action == "log.pruned" and event.target.isdecimal():
            self._pruned_to = int(event.target)
        if event.action == "log.emptied" and event.target.isdecimal():
            self._emptied_to = max(self._emptied_to, int(event.target))
        if event.action == "person.erased" and event.person is not None:
            self._erased_people.add(event.person)

    def _check_signature(self, event: AuditEvent) -> None:
        if not is_signed(event, self._keys):
            self._found.old_keys += 1
            self._unchecked = self._unchecked or event.sequence
            return
        self._unchecked = None

    def _check_detail(self, event: AuditEvent) -> None:
        if is_erased(event):
            self._found.erased += 1
            if event.action in NAMES_OTHERS and _is_said_to_be_empty(event):
                return
            self._erased[event.actor, event.person] = event.sequence

    def _check_expected(self, sequence: int, link: str) -> None:
        if sequence in self._expected and not chain.is_same(self._expected[sequence], link):
            raise Broken(f"Event {sequence} is another than it was once.")

    def _check_ends(self, link: str) -> None:
        last, first = self._found.last, self._found.first
        if (last.sequence if last else 0) != self._head.sequence or link != self._head.link:
            raise Broken(f"The log's head says that event {self._head.sequence} is the last one.")
        if self._unchecked:
            raise Broken(
                f"From event {self._unchecked} on, all are signed with a key that is not known: "
                "put the SECRET_KEY of then into SECRET_KEY_FALLBACKS."
            )
        if self._pruned_to != self._head.pruned_to:
            raise Broken("The log's beginning was cut off, and nothing says why.")
        if first and first.sequence != self._pruned_to + 1:
            raise Broken(f"The log begins with event {first.sequence}, and nothing says why.")
        if first and first.sequence == 1 and first.previous != chain.GENESIS:
            raise Broken("The log's first event follows another one.")

    def _check_erased(self) -> None:
        """Each leaves an event behind, an erasure or the age of details, which may have come while
        this was read."""
        later = AuditEvent.objects.filter(sequence__gt=self._head.sequence)
        erased = later.filter(action="person.erased").values_list("person", flat=True)
        gone = self._erased_people.union(erased) - {None}
        emptied = later.filter(action="log.emptied").values_list("target", flat=True)
        emptied_to = max([self._emptied_to, *map(int, emptied)])
        for people, sequence in self._erased.items():
            if sequence > emptied_to and not gone & set(people):
                raise Broken(f"The detail of event {sequence} is empty, and nobody was erased.")


def _is_said_to_be_empty(event: AuditEvent) -> bool:
    said = AuditEvent.objects.filter(action="detail.emptied", target_type="auditevent")
    return said.filter(target=str(event.sequence)).exists()


def is_signed(event: AuditEvent, known: Mapping[str, bytes]) -> bool:
    """By its own signature; False where the key of that is not known. Raises `Broken`."""
    if (secret := known.get(event.key)) is None:
        return False
    if not chain.is_same(event.mac, chain.signature(secret, event.said)):
        raise Broken(f"Event {event.sequence} was changed.")
    return True


def is_erased(event: AuditEvent) -> bool:
    """Whether it has lost its detail; raises `Broken` where that is another than it was."""
    detail: AuditDetail | None = getattr(event, "detail", None)
    if detail is None:
        if event.detail_hash:
            raise Broken(f"The detail of event {event.sequence} is missing.")
        return False
    if detail.is_erased and event.detail_hash:
        return True
    if not chain.is_same(chain.salted(detail.salt, detail.content), event.detail_hash):
        raise Broken(f"The detail of event {event.sequence} was changed.")
    return False


def check_some(events: Iterable[AuditEvent]) -> None:
    """Only of these whether each is as it was written; raises `Broken`."""
    known = keys.known()
    for event in events:
        is_signed(event, known)
        is_erased(event)


def events_between(after: int, last: int) -> Iterator[AuditEvent]:
    """Those between, the last one included, each with its detail."""
    while found := some_between(after, last):
        yield from found
        after = found[-1].sequence


def some_between(after: int, last: int) -> list[AuditEvent]:
    """The first of them, as many as may be in memory at once."""
    some = AuditEvent.objects.filter(sequence__gt=after, sequence__lte=last)
    return list(some.select_related("detail").order_by("sequence")[:AT_ONCE])
