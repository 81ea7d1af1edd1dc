"""The sentences that a person reads when a limit leaves no room for a reply."""

from chatapp.models.billing.budget_accounts import BudgetAccount
from chatapp.models.billing.limits import Measure
from chatapp.models.billing.quota_usage import build_usage
from chatapp.models.refusals import OverLimit, TooLittleForPrompt


def refusal(account: BudgetAccount, needed: int = 1, for_answer: int = 0) -> OverLimit:
    """Return the refusal that tells the person which limit it is, what is left, and what to do.

    A reply needs `needed` of the limit, and `for_answer` of it even without a prompt.
    """
    limit, usage = account.limit, build_usage(account)
    ask = f"Ask {limit.whom_to_ask or 'an administrator'} for more."
    if limit.measure == Measure.AT_ONCE:
        wait = "Wait for a reply to finish, or stop one."
        return OverLimit(f"{usage.sentence} {wait}", is_brief=True)
    if limit.measure == Measure.A_MINUTE:
        return OverLimit(f"{usage.sentence} Send it again in a minute.", is_brief=True)
    if not usage.remaining:
        return OverLimit(f"{usage.sentence} {ask}", usage.resets_at)
    if usage.remaining >= needed:  # but for what others hold
        wait = "Running replies may need that: wait for one to finish, or stop one."
        return OverLimit(f"{usage.sentence} {wait}", usage.resets_at, is_brief=True)
    if usage.remaining >= for_answer:
        return TooLittleForPrompt(usage.sentence, ask, usage.resets_at)
    return OverLimit(f"{usage.sentence} That is too little for an answer. {ask}", usage.resets_at)
