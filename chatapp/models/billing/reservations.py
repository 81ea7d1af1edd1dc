"""Reservations: what each running reply has reserved from the accounts that apply to it.

Admitting a prompt holds in each account an upper bound of the prompt plus 2,000 tokens of output,
or what is left. More is held before half of that is used. If nothing is left, the reply ends where
its hold does. Its actual cost is charged when it is saved (see `budget_accounts`). A title is
charged like a reply, but does not count as one: limits on replies per minute or at once ignore it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from django.db import transaction

from chatapp.db.statements import build, run_together
from chatapp.models.billing.budget_accounts import HELD, KEPT, TAKEN, BudgetAccount, BudgetHold
from chatapp.models.billing.limit_refusal import refusal
from chatapp.models.billing.limits import Limit, Measure
from chatapp.models.billing.prices import MILLION, Price
from chatapp.models.billing.quota_usage import LimitWarning, usage_of, warning
from chatapp.models.billing.usage import Usage

OUTPUT = 2_000  # tokens of output that are held at first, and added each time
# The tokens of a short answer. With less than this left, a prompt is refused, so that no reply
# starts that has to end at once.
MIN_OUTPUT = 150
MIN_TITLE = 50
# The largest `max_tokens` that is sent. Models refuse a number above their own maximum, and 4,096
# is the smallest common one. Beyond it, the hold decides when a reply has to end.
MAX_REQUESTED = 4_096
UNBOUNDED = 10**12
# On average a token has no more bytes than this, in any text worth reading. An upstream that sends
# more than this per requested token ignores `max_tokens`.
BYTES_A_TOKEN = 8


@dataclass
class Reservation:
    """The reservation of one reply or title. Counts concern the running request, in tokens, as
    upper bounds."""

    message: UUID
    holds: dict[int, BudgetHold]  # by account
    price: Price | None
    most: int | None = None  # output that the first request allows, over all choices
    prompt: int = 0
    output: int = 0  # held
    affordable: int = 0  # output that the accounts had room for when last read
    earlier: Usage = field(default_factory=Usage.nothing)  # of requests that have ended
    written: int = 0  # bytes; at least the number of tokens
    max_tokens: int | None = None  # sent to the upstream, as the total over all choices
    warning: LimitWarning | None = None  # if little was left before this reply
    was_refused: bool = False  # the last time it asked for more

    @property
    def used(self) -> int:
        """Upper bound of the output so far, in tokens."""
        if self.max_tokens is None or self.written > BYTES_A_TOKEN * self.max_tokens:
            return self.written
        return min(self.written, self.max_tokens)

    @property
    def wants_more(self) -> bool:
        """Whether over half of the hold is used and the upstream may write beyond it."""
        is_enough = self.max_tokens is not None and self.output >= self.max_tokens
        return self.is_bounded and not is_enough and 2 * self.used > self.output

    @property
    def is_over(self) -> bool:
        """Whether the reply has to end: it has used its hold and can't get more.

        A fast reply may use up all that there was before it could hold it.
        """
        if not self.is_bounded:
            return False
        if self._is_capped:
            return self.used > self.output
        return self.used > self.affordable or (self.was_refused and self.used >= self.output)

    def first(self, output: int) -> int:
        """Return this many tokens of output, or what the first request allows if that is less."""
        return output if self.most is None else min(output, self.most)

    @property
    def is_bounded(self) -> bool:
        """Whether a limit on tokens or money applies, not only one on the number of replies."""
        holds = self.holds.values()
        return any(hold.held and hold.account.limit.is_of_tokens for hold in holds)

    @property
    def _is_capped(self) -> bool:
        return self.max_tokens is not None and self.max_tokens <= self.output

    def tell(self, most: int | None) -> None:
        """Begin a request whose `max_tokens` is `most`; None if the upstream is sent none."""
        self.max_tokens, self.written, self.was_refused = most, 0, False

    def need(self, limit: Limit, prompt: int, output: int) -> int:
        """Return what the reply has to hold of an account for this prompt and output."""
        if limit.measure == Measure.TOKENS:
            return _tokens(self.earlier) + prompt + output
        if limit.measure == Measure.MONEY and self.price:
            return _money(self.earlier, self.price) + self.price.at_most(prompt, output)
        return 1 if limit.measure == Measure.AT_ONCE else 0

    def within(self, account: BudgetAccount, prompt: int) -> int:
        """Return the tokens of output that the account has room for, including what this reply
        holds of it already.

        Limits on the number of replies were checked once, when this one was admitted.
        """
        hold = self.holds[account.pk]
        if not account.limit.is_of_tokens and (
            hold.held or account.limit.measure == Measure.A_MINUTE
        ):
            return UNBOUNDED
        room = account.left + hold.held
        room -= self.need(account.limit, prompt, 0)
        if room < 0:
            return -1
        if account.limit.measure == Measure.TOKENS:
            return room
        dearest = self.price.dearest_output if self.price else 0
        if account.limit.measure == Measure.MONEY and dearest:
            return room * MILLION // dearest
        return UNBOUNDED

    def hold(
        self, accounts: Collection[BudgetAccount], prompt: int, output: int, least: int
    ) -> BudgetAccount | None:
        """Hold what the prompt and `output` may cost, or as much output as is left.

        If less than `least` is left, change nothing and return the account that lacks it.
        """
        mine = [one for one in accounts if one.pk in self.holds]
        tightest = min(mine, key=lambda one: self.within(one, prompt), default=None)
        affordable = self.within(tightest, prompt) if tightest else UNBOUNDED
        if tightest and affordable < least:
            return tightest
        self.affordable = affordable
        self.prompt, self.output = prompt, min(output, affordable)
        for account in mine:
            hold = self.holds[account.pk]
            held = self.need(account.limit, prompt, self.output)
            account.held = max(0, account.held + held - hold.held)
            hold.held = held
        return None


class PlannedRequest(NamedTuple):
    """One request to an upstream, named by the key that its ledger row will have."""

    key: UUID
    upstream: int | None
    model: str
    process: UUID  # that sends it


class LimitedReply(Protocol):
    """What limits on a reply depend on, and the flag that says whether any applies."""

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


def admit(
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
    limits = Limit.concerning(user)
    concerning = {
        reply.pk: [limit for limit in limits if limit.concerns(reply.upstream_id, reply.model)]
        for reply in replies
    }
    for reply in replies:
        reply.is_limited = bool(concerning[reply.pk])
    wanted = {one.pk: one for some in concerning.values() for one in some}
    if not wanted:
        return {}
    # Others wait for the locked rows until the transaction ends, so find out first what we can.
    known = {
        reply.pk: (
            prompt_tokens(reply),
            Price.holding(reply.upstream_id, reply.model),
            most_output(reply),
        )
        for reply in replies
        if concerning[reply.pk]
    }
    accounts = BudgetAccount.locked(wanted.values(), user)
    reservations = {}
    output = OUTPUT if len(replies) == 1 else MIN_OUTPUT
    for reply in replies:
        if mine := [account for account in accounts if account.limit in concerning[reply.pk]]:
            assert reply.streamed_by
            asking = PlannedRequest(reply.pk, reply.upstream_id, reply.model, reply.streamed_by)
            reservations[reply.pk] = _admitted(asking, mine, *known[reply.pk], output, MIN_OUTPUT)
    if len(reservations) > 1:
        _share_out(list(reservations.values()), accounts)
    _take(reservations.values(), accounts)
    return reservations


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
        one
        for one in Limit.concerning(user)
        if one.is_of_tokens and one.concerns(asking.upstream, asking.model)
    ]
    if not limits:
        return None
    price = Price.holding(asking.upstream, asking.model)
    accounts = BudgetAccount.locked(limits, user)
    reservation = _admitted(asking, accounts, prompt_tokens, price, None, OUTPUT, least)
    _take([reservation], accounts)
    return reservation


@contextmanager
def together(reservations: Iterable[Reservation]) -> Iterator[None]:
    """A transaction in which these may hold more. If it fails, each holds what it held before."""
    before = [
        (one, one.prompt, one.output, one.was_refused, one.holds, _held(one))
        for one in reservations
    ]
    try:
        with transaction.atomic():
            yield
    except BaseException:
        for reservation, prompt, output, was_refused, holds, held in before:
            reservation.prompt, reservation.output, reservation.was_refused = (
                prompt,
                output,
                was_refused,
            )
            reservation.holds = holds
            for key, hold in holds.items():
                hold.held = held[key]
        raise


def _held(reservation: Reservation) -> dict[int, int]:
    return {key: hold.held for key, hold in reservation.holds.items()}


def grow(reservations: Iterable[Reservation]) -> None:
    """Hold more for each of these, as far as there is more. Call it within `together`."""
    wanting = list(reservations)
    accounts = _locked_of(wanting)
    for reservation in wanting:
        _drop_removed(reservation, accounts)
        output = 2 * reservation.used + OUTPUT
        if reservation.max_tokens is not None:
            output = max(min(output, reservation.max_tokens), reservation.used + 1)
        refusing = reservation.hold(accounts, reservation.prompt, output, reservation.output + 1)
        reservation.was_refused = refusing is not None
    _keep(accounts, wanting)


def admit_again(reservation: Reservation, prompt: int, earlier: Usage) -> bool:
    """Return whether a reply may send one more request, after `earlier` usage, and hold its cost.

    Does not query the database if the prompt is covered by what is held already.
    """
    if not earlier.total_tokens and prompt <= reservation.prompt:
        return True
    reservation.earlier = earlier
    with together([reservation]):
        accounts = _locked_of([reservation])
        _drop_removed(reservation, accounts)
        if reservation.hold(accounts, prompt, *map(reservation.first, (OUTPUT, MIN_OUTPUT))):
            return False
        _keep(accounts, [reservation])
    return True


def _admitted(
    asking: PlannedRequest,
    accounts: Sequence[BudgetAccount],
    prompt: int,
    price: Price | None,
    most: int | None,
    output: int,
    least: int,
) -> Reservation:
    holds = {
        one.pk: build(BudgetHold, message=asking.key, account=one, process=asking.process)
        for one in accounts
    }
    for account in accounts:
        _count_in(account)
    reservation = Reservation(asking.key, holds, price, most)
    reservation.warning = warning(map(usage_of, accounts))
    output, least = reservation.first(output), reservation.first(least)
    if lacking := reservation.hold(accounts, prompt, output, least):
        limit = lacking.limit
        needed, for_answer = (reservation.need(limit, size, least) for size in (prompt, 0))
        raise refusal(lacking, needed, for_answer)
    return reservation


def _share_out(reservations: Sequence[Reservation], accounts: Collection[BudgetAccount]) -> None:
    """Let each of these, which hold the least, hold more, so that none takes what all need."""
    for number, reservation in enumerate(reservations, start=1):
        rivals = [one for one in reservations[number:] if one.holds.keys() & reservation.holds]
        least = reservation.first(MIN_OUTPUT)
        reservation.hold(accounts, reservation.prompt, least, least)  # reads what is left
        share = least + (reservation.affordable - least) // (len(rivals) + 1)
        reservation.hold(accounts, reservation.prompt, reservation.first(min(OUTPUT, share)), least)
        if share < OUTPUT:
            reservation.affordable = share


def _take(reservations: Collection[Reservation], accounts: Collection[BudgetAccount]) -> None:
    if not accounts:  # all limits were removed just now
        return
    kept = ((KEPT, account) for account in accounts)
    taken = ((TAKEN, hold) for reservation in reservations for hold in reservation.holds.values())
    run_together(*kept, *taken)


def _count_in(account: BudgetAccount) -> None:
    """Count one more reply for this minute; raises `OverLimit`."""
    if account.limit.measure != Measure.A_MINUTE:
        return
    if account.left <= 0:
        raise refusal(account)
    account.spent += 1


def _locked_of(reservations: Iterable[Reservation]) -> list[BudgetAccount]:
    return BudgetAccount.locked_again(
        {key for reservation in reservations for key in reservation.holds}
    )


def _drop_removed(reservation: Reservation, accounts: Iterable[BudgetAccount]) -> None:
    """Drop the holds of limits that were removed meanwhile."""
    left = {account.pk for account in accounts}
    reservation.holds = {key: hold for key, hold in reservation.holds.items() if key in left}


def _keep(accounts: Iterable[BudgetAccount], reservations: Iterable[Reservation]) -> None:
    KEPT.run(*accounts)
    HELD.run(*(hold for reservation in reservations for hold in reservation.holds.values()))


def _tokens(usage: Usage) -> int:
    return usage.upper_total_tokens or usage.total_tokens or 0


def _money(usage: Usage, price: Price) -> int:
    if usage.has_reported_cost and usage.cost is not None:
        return usage.cost
    if usage.upper_total_tokens is not None:
        return price.at_most(usage.upper_prompt_tokens or 0, usage.upper_completion_tokens or 0)
    return price.cost(usage.tokens)
