"""Authenticates a request by the personal access token in its Authorization header."""

from django.http import HttpRequest

from chatapp.accounts.adapter import AccountAdapter
from chatapp.api.responses import TOO_FAST, ApiError
from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets
from chatapp.models import AccessToken, Installation
from chatapp.models.accounts.access_tokens import PREFIX, Scope
from chatapp.realtime.completions.requests import SWITCHED_OFF
from chatapp.sessions.networks import network_number
from chatapp.sessions.rate_limits import allowances

WRONG_AT_ONCE, WRONG_SECONDS = 60, 60  # wrong tokens that a network may send, in this process
COSTS = {Scope.MODELS: 1, Scope.CHAT: 5}  # of a request, as the pages' reading and writing cost
RETRY_AFTER = 10  # seconds
QUERY_NAMES = frozenset({"access_token", "api_key", "api-key", "apikey", "authorization", "token"})

MISSING = "Send an API token in the header “Authorization: Bearer …”."
WRONG = "This API token is wrong, was revoked or has expired."
TOO_MANY_WRONG = "Too many wrong tokens came from this address. Wait a minute, then try again."
IN_THE_ADDRESS = (
    "Send the token in the Authorization header, not in the address, which logs contain. Revoke "
    "this token and create another one."
)

# A guess can't succeed, so this only bounds the work. Counted in memory, because each count in the
# shared cache would be a write.
wrong_tokens = TokenBuckets(lambda: TokenBucket(WRONG_AT_ONCE / WRONG_SECONDS, WRONG_AT_ONCE))


def authenticate(request: HttpRequest, scope: Scope) -> AccessToken:
    """Return the token that sends the request. Raises `ApiError`."""
    if any(
        name.lower() in QUERY_NAMES or value.startswith(PREFIX)
        for name, values in request.GET.lists()
        for value in values
    ):
        raise ApiError(400, IN_THE_ADDRESS, "token_in_address")
    try:
        token = check_token(secret_in(request.headers.get("Authorization", "")), scope)
    except WrongToken:
        if wrong_tokens[_network(request)].take() < 0:
            error = ApiError(429, TOO_MANY_WRONG, "too_many_wrong_tokens", None, WRONG_SECONDS)
            raise error from None
        raise
    if allowances[token.user_id].take(COSTS[scope]) < 0:
        raise ApiError(429, TOO_FAST, "rate_limit_exceeded", None, RETRY_AFTER)
    token.note_use()
    return token


def secret_in(authorization: str) -> str:
    """Return the token in the header `Authorization`. Raises `ApiError`."""
    kind, _, secret = authorization.partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise ApiError(401, MISSING, "missing_api_key")
    return secret.strip()


class WrongToken(ApiError):
    """Nobody has this token."""


def check_token(secret: str, scope: Scope) -> AccessToken:
    """Return the token with this secret, if it may be used so. Raises `ApiError`."""
    token = AccessToken.find(secret)
    if token is None:
        raise WrongToken(401, WRONG, "invalid_api_key")
    if not Installation.load().lets_use_api(token.user):
        raise ApiError(403, SWITCHED_OFF, "api_not_allowed")
    if scope not in token.scopes:
        raise ApiError(403, f"This token lacks the scope “{scope}”.", "insufficient_scope")
    return token


def _network(request: HttpRequest) -> int:
    return network_number(AccountAdapter().get_client_ip(request))
