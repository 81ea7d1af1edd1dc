"""Reserves budget for requests that are about to be sent, or refuses them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from chatapp.db.statements import build, run_together
from chatapp.models.billing.budget_accounts import (
    INSERT_HOLDS,
    UPDATE_ACCOUNTS,
    BudgetAccount,
    BudgetHold,
)
from chatapp.models.billing.limit_refusal import refusal
from chatapp.models.billing.limits import Limit, Measure
from chatapp.models.billing.prices import Price
from chatapp.models.billing.quota_usage import build_usage, warning
from chatapp.models.billing.reservations import MIN_OUTPUT, OUTPUT, Reservation

MIN_TITLE = 50


class PlannedRequest(NamedTuple):
    """One request to an upstream, named by the key that its ledger row will have."""

    key: UUID
    upstream: int | None
    model: str
    process: UUID  # that sends it


class LimitedReply(Protocol):
    """The facts that limits on a reply depend on, and the flag that says whether any applies."""

    is_limited: bool

    @property
    def pk(self) -> UUID: ...
    @property
    def upstream_id(self) -> int | None: ...
    @property
    def model(self) -> str: ...
    @property
    def streamed_by(self) -> UUID | None: ...


R = TypeVar("R", bound=LimitedReply)


def reserve_budget(
    user: int,
    replies: Sequence[R],
    prompt_tokens: Callable[[R], int],
    most_output: Callable[[R], int | None],
) -> Mapping[UUID, Reservation]:
    """Reserve budget for replies that are about to be requested: for all of them or none.

    Call it in the transaction that stores them. `prompt_tokens` returns an upper bound of what is
    sent for a reply, and `most_output` of what its request allows, or None. Returns reservations by
    reply; replies that no limit applies to have none. Raises `OverLimit`.
    """
    concerning = _find_limits(user, replies)
    limits_by_key = {
        limit.pk: limit for reply_limits in concerning.values() for limit in reply_limits
    }
    if not limits_by_key:
        return {}
    # Others wait for the locked rows until the transaction ends, so find out first what we can.
    estimates = {
        reply.pk: (
            prompt_tokens(reply),
            Price.find(reply.upstream_id, reply.model),
            most_output(reply),
        )
        for reply in replies
        if concerning[reply.pk]
    }
    accounts = BudgetAccount.lock_accounts(limits_by_key.values(), user)
    reservations = {}
    output = OUTPUT if len(replies) == 1 else MIN_OUTPUT
    for reply in replies:
        if mine := [account for account in accounts if account.limit in concerning[reply.pk]]:
            assert reply.streamed_by
            asking = PlannedRequest(reply.pk, reply.upstream_id, reply.model, reply.streamed_by)
            reservations[reply.pk] = _reserve(
                asking, mine, *estimates[reply.pk], output, MIN_OUTPUT
            )
    if len(reservations) > 1:
        _share_out(list(reservations.values()), accounts)
    _store_holds(reservations.values(), accounts)
    return reservations


def _find_limits(user: int, replies: Sequence[R]) -> dict[UUID, list[Limit]]:
    """Return the limits that concern each reply, which notes whether any does."""
    limits = Limit.for_user(user)
    concerning = {
        reply.pk: [limit for limit in limits if limit.concerns(reply.upstream_id, reply.model)]
        for reply in replies
    }
    for reply in replies:
        reply.is_limited = bool(concerning[reply.pk])
    return concerning


def admit_title(user: int, asking: PlannedRequest, prompt_tokens: int) -> Reservation | None:
    """Reserve budget for titling one of this person's conversations; see `admit_request`."""
    return admit_request(user, asking, prompt_tokens, MIN_TITLE)


def admit_request(
    user: int, asking: PlannedRequest, prompt_tokens: int, least: int
) -> Reservation | None:
    """Reserve budget for a request of this person's that is no reply; None if no limit applies.

    `least` is the number of tokens that must be left for the answer. Call it in a transaction.
    Raises `OverLimit`.
    """
    limits = [
        limit
        for limit in Limit.for_user(user)
        if limit.is_of_tokens and limit.concerns(asking.upstream, asking.model)
    ]
    if not limits:
        return None
    price = Price.find(asking.upstream, asking.model)
    accounts = BudgetAccount.lock_accounts(limits, user)
    reservation = _reserve(asking, accounts, prompt_tokens, price, None, OUTPUT, least)
    _store_holds([reservation], accounts)
    return reservation


def _reserve(
    asking: PlannedRequest,
    accounts: Sequence[BudgetAccount],
    prompt: int,
    price: Price | None,
    max_output: int | None,
    output: int,
    least: int,
) -> Reservation:
    holds = {
        account.pk: build(BudgetHold, message=asking.key, account=account, process=asking.process)
        for account in accounts
    }
    for account in accounts:
        _count_reply(account)
    reservation = Reservation(asking.key, holds, price, max_output)
    reservation.warning = warning(map(build_usage, accounts))
    output, least = reservation.cap_output(output), reservation.cap_output(least)
    if lacking := reservation.hold(accounts, prompt, output, least):
        limit = lacking.limit
        needed, for_answer = (reservation.compute_need(limit, size, least) for size in (prompt, 0))
        raise refusal(lacking, needed, for_answer)
    return reservation


def _share_out(reservations: Sequence[Reservation], accounts: Collection[BudgetAccount]) -> None:
    """Let each of these, which hold the least, hold more, so that none takes what all need."""
    for number, reservation in enumerate(reservations, start=1):
        rivals = [
            rival for rival in reservations[number:] if rival.holds.keys() & reservation.holds
        ]
        least = reservation.cap_output(MIN_OUTPUT)
        reservation.hold(accounts, reservation.prompt, least, least)  # reads what is left
        share = least + (reservation.affordable - least) // (len(rivals) + 1)
        reservation.hold(
            accounts, reservation.prompt, reservation.cap_output(min(OUTPUT, share)), least
        )
        if share < OUTPUT:
            reservation.affordable = share


def _store_holds(
    reservations: Collection[Reservation], accounts: Collection[BudgetAccount]
) -> None:
    if not accounts:  # all limits were removed just now
        return
    updates = ((UPDATE_ACCOUNTS, account) for account in accounts)
    inserts = (
        (INSERT_HOLDS, hold) for reservation in reservations for hold in reservation.holds.values()
    )
    run_together(*updates, *inserts)


def _count_reply(account: BudgetAccount) -> None:
    """Count one more reply for this minute; raises `OverLimit`."""
    if account.limit.measure != Measure.A_MINUTE:
        return
    if account.remaining <= 0:
        raise refusal(account)
    account.spent += 1
