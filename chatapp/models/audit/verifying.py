"""Verifies the audit log: reads all of it and reports the first place where it was changed."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Self

from chatapp.db.locks import only_one_process
from chatapp.models.audit import chain, keys
from chatapp.models.audit.erasing import NAMES_OTHERS
from chatapp.models.audit.events import SINGLETON_PK, AuditDetail, AuditEvent, AuditHead

AT_ONCE = 1000
LOCK = "audit"  # prevents pruning during a verification


class Broken(Exception):
    """Raised if the log was changed; the message says where."""


class Head(NamedTuple):
    """The end of the log at some time, as found in a backup or in the server's log."""

    sequence: int
    link: str

    def __str__(self) -> str:
        return f"{self.sequence}:{self.link}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the result of `str`; return None if the text is invalid."""
        sequence, _, link = text.strip().partition(":")
        is_one = sequence.isdecimal() and len(link) == len(chain.GENESIS)
        return cls(int(sequence), link) if is_one else None


@dataclass
class VerifiedLog:
    """The findings in an unchanged log."""

    events: int = 0
    first: AuditEvent | None = None
    last: AuditEvent | None = None
    erased: int = 0
    old_keys: int = 0  # events with a discarded key; later events vouch for them
    head: Head = field(default_factory=lambda: Head(0, chain.GENESIS))

    @property
    def since(self) -> datetime | None:
        return self.first.at if self.first else None

    @property
    def until(self) -> datetime | None:
        return self.last.at if self.last else None


def read_head() -> Head:
    """Return where the log ends according to its head."""
    head = AuditHead.objects.filter(pk=SINGLETON_PK).first()
    return Head(head.sequence, head.link) if head else Head(0, chain.GENESIS)


def verify(expected: Collection[Head] = ()) -> VerifiedLog:
    """Verify the whole log. Raises `Broken` if it was changed or lacks an expected head."""
    with only_one_process(LOCK):
        head = AuditHead.objects.filter(pk=SINGLETON_PK).first()
        if head is None:
            if AuditEvent.objects.exists() or any(
                expected_head.sequence for expected_head in expected
            ):
                raise Broken("The log's head is missing.")
            return VerifiedLog()
        return _Verification(head, expected).verdict()


class _Verification:
    def __init__(self, head: AuditHead, expected: Collection[Head]) -> None:
        self._head = head
        self._expected = {expected_head.sequence: expected_head.link for expected_head in expected}
        self._keys = keys.load_verification_keys()
        self._result = VerifiedLog(head=Head(head.sequence, head.link))
        self._unchecked: int | None = None  # the first event that nothing vouches for yet
        self._pruned_to = 0
        # The last event with an erased detail, by actor and person.
        self._erased: dict[tuple[int | None, int | None], int] = {}
        self._erased_people: set[int] = set()
        self._emptied_to = 0

    def verdict(self) -> VerifiedLog:
        self._check_head()
        number, link = None, None
        for event in events_between(self._head.pruned_to, self._head.sequence):
            if number is None:
                self._result.first = event
            elif event.sequence != number + 1:
                raise Broken(f"After event {number}, an event is missing.")
            elif not chain.is_same(event.previous, link or ""):
                raise Broken(f"Event {event.sequence} does not match the event before it.")
            self._check(event)
            number, link = event.sequence, event.link
            self._check_expected(number, link)
            self._result.last = event
        self._check_ends(link or chain.GENESIS)
        self._check_erased()
        return self._result

    def _check_head(self) -> None:
        head, secret = self._head, self._keys.get(self._head.key)
        if secret is None:
            raise Broken(
                "The log's head is signed with an unknown key: add the former SECRET_KEY to "
                "SECRET_KEY_FALLBACKS."
            )
        args = head.sequence, head.link, head.pruned_to, head.key
        if not chain.is_same(head.mac, chain.signature_of_head(secret, *args)):
            raise Broken("The log's head was changed.")
        for sequence in self._expected:
            if sequence > head.sequence:
                raise Broken(
                    f"The log ends with event {head.sequence} but once had event {sequence}: "
                    "its end was cut off."
                )

    def _check(self, event: AuditEvent) -> None:
        self._result.events += 1
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
            self._result.old_keys += 1
            self._unchecked = self._unchecked or event.sequence
            return
        self._unchecked = None

    def _check_detail(self, event: AuditEvent) -> None:
        if is_erased(event):
            self._result.erased += 1
            if event.action in NAMES_OTHERS and _is_recorded_as_emptied(event):
                return
            self._erased[event.actor, event.person] = event.sequence

    def _check_expected(self, sequence: int, link: str) -> None:
        if sequence in self._expected and not chain.is_same(self._expected[sequence], link):
            raise Broken(f"Event {sequence} is not the same event as before.")

    def _check_ends(self, link: str) -> None:
        last, first = self._result.last, self._result.first
        if (last.sequence if last else 0) != self._head.sequence or link != self._head.link:
            raise Broken(f"The log's head says that event {self._head.sequence} is the last one.")
        if self._unchecked:
            raise Broken(
                f"All events from event {self._unchecked} on are signed with an unknown key: "
                "add the SECRET_KEY of that time to SECRET_KEY_FALLBACKS."
            )
        if self._pruned_to != self._head.pruned_to:
            raise Broken("The start of the log was removed, and no event records that.")
        if first and first.sequence != self._pruned_to + 1:
            raise Broken(f"The log begins with event {first.sequence}, and no event explains why.")
        if first and first.sequence == 1 and first.previous != chain.GENESIS:
            raise Broken("The log's first event follows an event that is missing.")

    def _check_erased(self) -> None:
        """Check that each erased detail has an event that explains it.

        Details may have been erased during the verification, so later events count, too.
        """
        later = AuditEvent.objects.filter(sequence__gt=self._head.sequence)
        erased = later.filter(action="person.erased").values_list("person", flat=True)
        erased_people = self._erased_people.union(erased) - {None}
        emptied = later.filter(action="log.emptied").values_list("target", flat=True)
        emptied_to = max([self._emptied_to, *map(int, emptied)])
        for people, sequence in self._erased.items():
            if sequence > emptied_to and not erased_people & set(people):
                raise Broken(f"The detail of event {sequence} is empty, but nobody was erased.")


def _is_recorded_as_emptied(event: AuditEvent) -> bool:
    records = AuditEvent.objects.filter(action="detail.emptied", target_type="auditevent")
    return records.filter(target=str(event.sequence)).exists()


def is_signed(event: AuditEvent, secrets_by_key: Mapping[str, bytes]) -> bool:
    """Check the event's signature. Returns False if its key is unknown; raises `Broken`."""
    if (secret := secrets_by_key.get(event.key)) is None:
        return False
    if not chain.is_same(event.mac, chain.signature(secret, event.fields)):
        raise Broken(f"Event {event.sequence} was changed.")
    return True


def is_erased(event: AuditEvent) -> bool:
    """Return whether the event's detail was erased. Raises `Broken` if it was changed."""
    detail: AuditDetail | None = getattr(event, "detail", None)
    if detail is None:
        if event.detail_hash:
            raise Broken(f"The detail of event {event.sequence} is missing.")
        return False
    if detail.is_erased and event.detail_hash:
        return True
    if not chain.is_same(chain.hash_detail(detail.salt, detail.content), event.detail_hash):
        raise Broken(f"The detail of event {event.sequence} was changed.")
    return False


def check_events(events: Iterable[AuditEvent]) -> None:
    """Check the signature and detail of each of these events only. Raises `Broken`."""
    secrets_by_key = keys.load_verification_keys()
    for event in events:
        is_signed(event, secrets_by_key)
        is_erased(event)


def events_between(after: int, last: int) -> Iterator[AuditEvent]:
    """Yield the events after `after`, up to and including `last`, with their details."""
    while batch := read_batch(after, last):
        yield from batch
        after = batch[-1].sequence


def read_batch(after: int, last: int) -> list[AuditEvent]:
    """Return the first batch of them, small enough to be in memory at once."""
    events = AuditEvent.objects.filter(sequence__gt=after, sequence__lte=last)
    return list(events.select_related("detail").order_by("sequence")[:AT_ONCE])
