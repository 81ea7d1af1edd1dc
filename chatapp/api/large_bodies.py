"""Admits bodies of chat completions that are larger than other requests' may be.

An attached photo, as a data URL, is larger than any form. Such a body is admitted only with a valid
token, and within bounds for all and for each person, from its head until its response is complete.
On the event loop.
"""

import asyncio

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError

from chatapp.api.authentication import RETRY_AFTER, check_token, secret_in
from chatapp.api.responses import DATABASE_AWAY, TOO_FAST, ApiError
from chatapp.models.accounts.access_tokens import Scope
from chatapp.server_interface import LargeBody, Refuse

PATH = b"/api/v1/chat/completions"
BODIES_AT_ONCE = 4  # of the largest size, in this process; a person may send one
MAX_UNCHECKED_BODIES = 64  # bodies whose token is being checked, which takes milliseconds
CHARACTER_BYTES = 6  # of a character as JSON may escape it


def max_text_bytes() -> int:
    """Return the most bytes that a body may have besides its files."""
    characters = settings.CHATAPP_MAX_PROMPT_CHARACTERS + settings.CHATAPP_FILE_CHARACTERS
    return int(settings.CHATAPP_MAX_BODY_BYTES + characters * CHARACTER_BYTES)


def max_bytes() -> int:
    """Return the most bytes of a body: the largest file in base64, and text."""
    return -(-settings.CHATAPP_FILE_BYTES // 3) * 4 + max_text_bytes()


class LargeBodies:
    """The large bodies of a process, as `chatapp.server_interface.LargeBodies` describes them."""

    def __init__(self) -> None:
        self._open: set[LargeBody] = set()

    def limit(self, path: bytes) -> int:
        return max_bytes() if path.partition(b"?")[0].endswith(PATH) else 0

    def begin(self, size: int, authorization: str, refuse: Refuse) -> LargeBody:
        secret = secret_in(authorization)
        if sum(other.sender is None for other in self._open) >= MAX_UNCHECKED_BODIES:
            raise _too_many()
        body = LargeBody(size)
        self._open.add(body)
        body.check = asyncio.get_running_loop().create_task(self._check(body, secret, refuse))
        return body

    def end(self, body: LargeBody) -> None:
        self._open.discard(body)
        body.check.cancel()

    async def _check(self, body: LargeBody, secret: str, refuse: Refuse) -> None:
        try:
            token = await database_sync_to_async(check_token)(secret, Scope.CHAT)
            body.sender = token.user_id
            self._check_room(body)
        except ApiError as error:
            refuse(error)
        except (OperationalError, InterfaceError):
            refuse(ApiError(503, DATABASE_AWAY, None, None, RETRY_AFTER))

    def _check_room(self, body: LargeBody) -> None:
        """Count only bodies with a valid token, so that others can't take their room."""
        others = [other for other in self._open if other is not body and other.sender is not None]
        own = sum(other.size for other in others if other.sender == body.sender)
        limit = max_bytes()
        if own + body.size > limit or sum(other.size for other in others) + body.size > (
            BODIES_AT_ONCE * limit
        ):
            raise _too_many()


def _too_many() -> ApiError:
    return ApiError(429, TOO_FAST, "rate_limit_exceeded", None, RETRY_AFTER)
