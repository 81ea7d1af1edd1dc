"""Limits as administrators set them, what their accounts hold, and prompts that meet them."""

from typing import Any
from uuid import UUID, uuid4

from chatapp.models import (
    BudgetAccount,
    Limit,
    ModelChoice,
    Price,
    Prompt,
    Turn,
    Upstream,
    Usage,
    User,
)
from chatapp.models.billing.limits import Measure, Period
from chatapp.models.billing.reservations import OUTPUT, Reservation
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.requests.estimates import PromptSize
from chatapp.upstream.wire.requests.history import History
from tests.support.stored import MODEL, build_reply, end

PROCESS_ID = UUID(int=1)
TEXT = "왜 하늘은 파란가요?"
PROMPT = PromptSize.of(History.of([{"role": "user", "content": TEXT}])).upper_tokens
WHOLE = PROMPT + OUTPUT  # the reservation of a first prompt


def limit(cap: int, measure: Measure = Measure.TOKENS, **fields: Any) -> Limit:
    """Create a limit, in total and for everybody together unless stated otherwise."""
    return Limit.objects.create(cap=cap, measure=measure, **{"period": Period.EVER} | fields)


def account() -> tuple[int, int]:
    """Return what is spent and held of the only account."""
    account = BudgetAccount.objects.get()
    return account.spent, account.held


def store_price(upstream: Upstream, a_token_in: int, a_token_out: int, model: str = MODEL) -> Price:
    """Store a price; both arguments are in nano-dollars."""
    return Price.objects.create(
        upstream=upstream,
        model=model,
        input=a_token_in * 10**6,
        output=a_token_out * 10**6,
        holds_from="2026-01-01T00:00Z",
    )


def ask(user: User, model: ModelChoice, *others: ModelChoice) -> Turn:
    return Prompt(TEXT, model, id=uuid4(), others=others).store(user, PROCESS_ID)


def get_reservation(turn: Turn) -> Reservation:
    assert turn.reservation
    return turn.reservation


def build_usage(prompt: int, completion: int) -> Usage:
    tokens = TokenUsage(prompt, completion, prompt + completion)
    return Usage.from_tokens(Usage.Provenance.REPORTED, tokens)


def finish(turn: Turn, prompt: int = 10, completion: int = 20) -> None:
    end(turn.reply, build_reply("So."), usage=build_usage(prompt, completion))
