"""The organisation's sign-in: whether it answers, and whether people's identities are of it."""

from collections import Counter
from collections.abc import Iterator

from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from chatapp.accounts.identities import (
    PROVIDER,
    UNUSABLE,
    configured_issuer,
    is_of,
    stored_issuer,
)
from chatapp.checks.results import Finding, failed, ok, printable, skipped, warning
from chatapp.doctor.report import reason, shown_url


def identities() -> Iterator[Finding]:
    if not settings.CHATAPP_OIDC_URL:
        yield skipped("Provider", "CHATAPP_OIDC_URL is not set")
        return
    try:
        issuer = configured_issuer()
    except UNUSABLE as error:
        yield failed(
            "Provider",
            f"{shown_url(settings.CHATAPP_OIDC_URL)} can't be used: {reason(error)}",
            "Set CHATAPP_OIDC_URL to its discovery URL, and let this server reach it.",
        )
        return
    yield ok("Provider", f"its issuer is {printable(issuer)}")
    yield _identities(issuer)


def _identities(issuer: str) -> Finding:
    stored = list(SocialAccount.objects.filter(provider=PROVIDER))
    welcome = {one.user_id for one in stored if is_of(issuer, one)}
    others = [one for one in stored if one.user_id not in welcome]
    if not others:
        return ok("Identities", f"people who can sign in by it: {len(welcome)}")
    named = Counter(printable(stored_issuer(one)) for one in others)
    people = len({one.user_id for one in others})
    return warning(
        "Identities",
        f"people who can't sign in by it, since their identities are of another issuer: {people}; "
        + ", ".join(f"{name} ({count})" for name, count in named.most_common()),
        "Set CHATAPP_OIDC_URL back. Or, only if the same subjects are the same people at the new "
        "issuer, run manage.py move_identities with the old one. Else they sign in by a password, "
        "or join again by their verified address.",
    )
