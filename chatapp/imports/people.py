"""The people of a database that an administrator imports, and the accounts here that match them.

Administrators see how many chats people have, and from when: nothing else of what is in them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime

from chatapp.accounts.identities import with_confirmed_address
from chatapp.imports.report import ImportReport, extend_dates
from chatapp.models import Import, User
from chatapp.models.accounts.users import address_key
from chatapp.models.conversations.chats.conversation import IMPORT_SOURCES
from chatapp.models.imports.imports import Phase
from chatapp.models.platform.jobs import JobState
from chatapp.models.refusals import Refused
from chatapp.transfer import SourceChat, SourcePerson

MAX_PEOPLE = 2000  # listed
UNKNOWN_OWNER = "Its owner is not in the database."
NOBODY = "Choose at least one person."
CHANGED = "The people or their accounts have changed meanwhile. Look at the list again."


def count_chat_of_person(
    chat: SourceChat,
    people: Mapping[str, SourcePerson],
    counts: dict[str, dict[str, Any]],
    report: ImportReport,
) -> None:
    """Count a chat of a database in the report, and in the counts of its owner by their id."""
    person = people.get(chat.owner)
    if person is None:
        report.add_skipped(UNKNOWN_OWNER)
        return
    new = {"id": person.id, "name": person.name, "address": person.address}
    entry = counts.setdefault(person.id, {**new, "chats": 0, "first": "", "last": ""})
    entry["chats"] += 1
    entry["first"], entry["last"] = extend_dates(entry["first"], entry["last"], chat)
    report.add_dates(chat)
    report.chats += 1
    report.messages += sum(not message.is_placeholder for message in chat.messages)


def list_people(counts: Mapping[str, dict[str, Any]], report: ImportReport) -> None:
    """List the people, those with an account first, with a key of each for the page."""
    accounts_by_address = User.group_by_address() if counts else {}
    for entry in counts.values():
        accounts = accounts_by_address.get(address_key(entry["address"]), [])
        entry["account"] = accounts[0].pk if accounts else None
    entries = sorted(counts.values(), key=_order)
    report.more_people = len(entries[MAX_PEOPLE:])
    report.people = [{"key": number, **entry} for number, entry in enumerate(entries[:MAX_PEOPLE])]


def _order(entry: Mapping[str, Any]) -> tuple[bool, str]:
    return entry["account"] is None, (entry["name"] or entry["address"]).casefold()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A person of the database, and the accounts here that have the same address."""

    key: str
    id: str
    name: str
    address: str
    chats: int
    first: datetime | None
    last: datetime | None
    accounts: Sequence[User]
    is_own: bool  # the administrator's
    is_confirmed: bool  # the address belongs to the account's person

    @property
    def account(self) -> User | None:
        """The account that may get the chats: the only one with the address, if it is active."""
        account = self.accounts[0] if len(self.accounts) == 1 else None
        return account if account and account.is_active else None


def list_candidates(job: Import) -> list[Candidate]:
    """Return the people of the database, with the accounts that match them now, one's own first."""
    people = ImportReport.from_record(job.preview).people
    accounts_by_address = User.group_by_address() if people else {}
    matches = [
        (entry, accounts_by_address.get(address_key(entry["address"]), [])) for entry in people
    ]
    confirmed = with_confirmed_address(account for _, accounts in matches for account in accounts)
    listed = [
        Candidate(
            key=str(entry["key"]),
            id=entry["id"],
            name=entry["name"],
            address=entry["address"],
            chats=entry["chats"],
            first=parse_datetime(entry["first"]),
            last=parse_datetime(entry["last"]),
            accounts=accounts,
            is_own=any(account.pk == job.user_id for account in accounts),
            is_confirmed=all(
                account.pk in confirmed or account.pk == job.user_id for account in accounts
            ),
        )
        for entry, accounts in matches
    ]
    return sorted(listed, key=lambda candidate: not candidate.is_own)


def choose_people(job: Import, keys: Iterable[str]) -> list[Candidate]:
    """Return the people with these keys, who all have an account. Raises `Refused`."""
    candidates_by_key = {
        candidate.key: candidate for candidate in list_candidates(job) if candidate.account
    }
    chosen_keys = list(dict.fromkeys(keys))
    if not chosen_keys:
        raise Refused(NOBODY)
    if not candidates_by_key.keys() >= set(chosen_keys):
        raise Refused(CHANGED)
    return [candidates_by_key[key] for key in chosen_keys]


def make_parts(job: Import, chosen_people: Iterable[Candidate]) -> None:
    """Store a part of the import for each person, and forget the others."""
    Import.objects.bulk_create(
        Import(
            user=candidate.account,
            part_of=job,
            source_person=candidate.id,
            name=IMPORT_SOURCES[job.source],
            source=job.source,
            state=JobState.DONE,  # so that it isn't run itself
            phase=Phase.STORED,
            makes_projects=job.makes_projects,
            preview={"chats": candidate.chats},
        )
        for candidate in chosen_people
    )
    job.preview = job.preview | {"people": [], "more_people": 0}
