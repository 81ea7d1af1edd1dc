"""Reservations: what each running reply has reserved from the accounts that apply to it.

Admitting a prompt holds in each account an upper bound of the prompt plus 2,000 tokens of output,
or what is left. More is held before half of that is used. If nothing is left, the reply ends where
its hold does. Its actual cost is charged when it is saved (see `budget_accounts`). A title is
charged like a reply, but does not count as one: limits on replies per minute or at once ignore it.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from chatapp.models.billing.budget_accounts import (
    UPDATE_ACCOUNTS,
    UPDATE_HELD,
    BudgetAccount,
    BudgetHold,
)
from chatapp.models.billing.limits import Limit, Measure
from chatapp.models.billing.prices import MILLION, Price
from chatapp.models.billing.quota_usage import LimitWarning
from chatapp.models.billing.usage import Usage

OUTPUT = 2_000  # tokens of output that are held at first, and added each time
# The tokens of a short answer. With less than this left, a prompt is refused, so that no reply
# starts that has to end at once.
MIN_OUTPUT = 150
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
    max_output: int | None = None  # output that the first request allows, over all choices
    prompt: int = 0
    output: int = 0  # held
    affordable: int = 0  # output that the accounts had room for when last read
    earlier: Usage = field(default_factory=Usage.empty)  # of requests that have ended
    written: int = 0  # bytes; at least the number of tokens
    max_tokens: int | None = None  # sent to the upstream, as the total over all choices
    warning: LimitWarning | None = None  # if little was left before this reply
    was_refused: bool = False  # the last time it asked for more

    @property
    def used_tokens(self) -> int:
        """Upper bound of the output so far, in tokens."""
        if self.max_tokens is None or self.written > BYTES_A_TOKEN * self.max_tokens:
            return self.written
        return min(self.written, self.max_tokens)

    @property
    def wants_more(self) -> bool:
        """Whether over half of the hold is used and the upstream may write beyond it."""
        is_enough = self.max_tokens is not None and self.output >= self.max_tokens
        return self.is_bounded and not is_enough and 2 * self.used_tokens > self.output

    @property
    def is_over(self) -> bool:
        """Whether the reply has to end: it has used its hold and can't get more.

        A fast reply may use up all that there was before it could hold it.
        """
        if not self.is_bounded:
            return False
        if self._is_capped:
            return self.used_tokens > self.output
        return self.used_tokens > self.affordable or (
            self.was_refused and self.used_tokens >= self.output
        )

    def cap_output(self, output: int) -> int:
        """Return this many tokens of output, or what the first request allows if that is less."""
        return output if self.max_output is None else min(output, self.max_output)

    @property
    def is_bounded(self) -> bool:
        """Whether a limit on tokens or money applies, not only one on the number of replies."""
        holds = self.holds.values()
        return any(hold.held and hold.account.limit.is_of_tokens for hold in holds)

    @property
    def _is_capped(self) -> bool:
        return self.max_tokens is not None and self.max_tokens <= self.output

    def begin_request(self, max_tokens: int | None) -> None:
        """Begin a request; `max_tokens` is None if the upstream is sent none."""
        self.max_tokens, self.written, self.was_refused = max_tokens, 0, False

    def compute_need(self, limit: Limit, prompt: int, output: int) -> int:
        """Return what the reply has to hold of an account for this prompt and output."""
        if limit.measure == Measure.TOKENS:
            return _tokens(self.earlier) + prompt + output
        if limit.measure == Measure.MONEY and self.price:
            return _money(self.earlier, self.price) + self.price.at_most(prompt, output)
        return 1 if limit.measure == Measure.AT_ONCE else 0

    def compute_room(self, account: BudgetAccount, prompt: int) -> int:
        """Return the tokens of output that the account has room for, including what this reply
        holds of it already.

        Limits on the number of replies were checked once, when this one was admitted.
        """
        hold = self.holds[account.pk]
        if not account.limit.is_of_tokens and (
            hold.held or account.limit.measure == Measure.A_MINUTE
        ):
            return UNBOUNDED
        room = account.remaining + hold.held
        room -= self.compute_need(account.limit, prompt, 0)
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
        mine = [account for account in accounts if account.pk in self.holds]
        tightest = min(mine, key=lambda account: self.compute_room(account, prompt), default=None)
        affordable = self.compute_room(tightest, prompt) if tightest else UNBOUNDED
        if tightest and affordable < least:
            return tightest
        self.affordable = affordable
        self.prompt, self.output = prompt, min(output, affordable)
        for account in mine:
            hold = self.holds[account.pk]
            amount = self.compute_need(account.limit, prompt, self.output)
            account.held = max(0, account.held + amount - hold.held)
            hold.held = amount
        return None


@contextmanager
def reservation_transaction(reservations: Iterable[Reservation]) -> Iterator[None]:
    """A transaction in which these may hold more. If it fails, each holds what it held before."""
    before = [
        (
            reservation,
            reservation.prompt,
            reservation.output,
            reservation.was_refused,
            reservation.holds,
            _read_held(reservation),
        )
        for reservation in reservations
    ]
    try:
        with transaction.atomic():
            yield
    except BaseException:
        for reservation, prompt, output, was_refused, holds, held_amounts in before:
            reservation.prompt, reservation.output, reservation.was_refused = (
                prompt,
                output,
                was_refused,
            )
            reservation.holds = holds
            for key, hold in holds.items():
                hold.held = held_amounts[key]
        raise


def _read_held(reservation: Reservation) -> dict[int, int]:
    return {key: hold.held for key, hold in reservation.holds.items()}


def grow(reservations: Iterable[Reservation]) -> None:
    """Hold more for each of these, as far as there is more. Call it within
    `reservation_transaction`.
    """
    wanting = list(reservations)
    accounts = _lock_accounts(wanting)
    for reservation in wanting:
        _drop_removed_holds(reservation, accounts)
        output = 2 * reservation.used_tokens + OUTPUT
        if reservation.max_tokens is not None:
            output = max(min(output, reservation.max_tokens), reservation.used_tokens + 1)
        refusing = reservation.hold(accounts, reservation.prompt, output, reservation.output + 1)
        reservation.was_refused = refusing is not None
    _update_holds(accounts, wanting)


def admit_again(reservation: Reservation, prompt: int, earlier: Usage) -> bool:
    """Return whether a reply may send one more request, after `earlier` usage, and hold its cost.

    Does not query the database if the prompt is covered by what is held already.
    """
    if not earlier.total_tokens and prompt <= reservation.prompt:
        return True
    reservation.earlier = earlier
    with reservation_transaction([reservation]):
        accounts = _lock_accounts([reservation])
        _drop_removed_holds(reservation, accounts)
        if reservation.hold(accounts, prompt, *map(reservation.cap_output, (OUTPUT, MIN_OUTPUT))):
            return False
        _update_holds(accounts, [reservation])
    return True


def _lock_accounts(reservations: Iterable[Reservation]) -> list[BudgetAccount]:
    return BudgetAccount.lock_existing(
        {key for reservation in reservations for key in reservation.holds}
    )


def _drop_removed_holds(reservation: Reservation, accounts: Iterable[BudgetAccount]) -> None:
    """Drop the holds of limits that were removed meanwhile."""
    left = {account.pk for account in accounts}
    reservation.holds = {key: hold for key, hold in reservation.holds.items() if key in left}


def _update_holds(accounts: Iterable[BudgetAccount], reservations: Iterable[Reservation]) -> None:
    UPDATE_ACCOUNTS.run(*accounts)
    UPDATE_HELD.run(*(hold for reservation in reservations for hold in reservation.holds.values()))


def _tokens(usage: Usage) -> int:
    return usage.upper_total_tokens or usage.total_tokens or 0


def _money(usage: Usage, price: Price) -> int:
    if usage.has_reported_cost and usage.cost is not None:
        return usage.cost
    if usage.upper_total_tokens is not None:
        return price.at_most(usage.upper_prompt_tokens or 0, usage.upper_completion_tokens or 0)
    return price.cost(usage.tokens)
