"""Check the organisation's sign-in: whether it answers, and whether stored identities match it."""

from collections import Counter
from collections.abc import Iterator

from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from chatapp.accounts.identities import (
    PROVIDER,
    UNUSABLE,
    configured_issuer,
    matches_issuer,
    stored_issuer,
)
from chatapp.checks.phrases import reason, redact_url
from chatapp.checks.results import CheckResult, failed, ok, skipped, warning
from chatapp.command_line import MANAGE


def identities() -> Iterator[CheckResult]:
    if not settings.CHATAPP_OIDC_URL:
        yield skipped("Provider", "CHATAPP_OIDC_URL is not set")
        return
    try:
        issuer = configured_issuer()
    except UNUSABLE as error:
        yield failed(
            "Provider",
            f"{redact_url(settings.CHATAPP_OIDC_URL)} can't be used: {reason(error)}",
            "Set CHATAPP_OIDC_URL to its discovery URL, and make sure this server can reach it.",
        )
        return
    yield ok("Provider", f"its issuer is {issuer}")
    yield _identities(issuer)


def _identities(issuer: str) -> CheckResult:
    accounts = list(SocialAccount.objects.filter(provider=PROVIDER))
    can_sign_in = {account.user_id for account in accounts if matches_issuer(issuer, account)}
    others = [account for account in accounts if account.user_id not in can_sign_in]
    if not others:
        return ok("Identities", f"people who can sign in with it: {len(can_sign_in)}")
    issuers = Counter(stored_issuer(account) for account in others)
    people = len({account.user_id for account in others})
    return warning(
        "Identities",
        f"people who can't sign in with it, as their identities are from another issuer: {people}; "
        + ", ".join(f"{name} ({count})" for name, count in issuers.most_common()),
        "Change CHATAPP_OIDC_URL back. Or, only if each subject is the same person at the new "
        f"issuer, run {MANAGE} move_identities with the old one. Otherwise these people sign in "
        "with a password, or join again with their verified email address.",
    )
