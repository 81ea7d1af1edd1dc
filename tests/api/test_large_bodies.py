"""Large bodies of requests have room of their own, which only valid tokens take."""

import asyncio
from types import SimpleNamespace

import pytest

from chatapp.api import large_bodies
from chatapp.api.large_bodies import BODIES_AT_ONCE, MAX_UNCHECKED_BODIES, LargeBodies, max_bytes
from chatapp.api.responses import ApiError

pytestmark = pytest.mark.django_db

RIGHT, WRONG = "Bearer right-{}", "Bearer wrong"


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> LargeBodies:
    def check(secret: str, _scope: str) -> SimpleNamespace:
        if not secret.startswith("right-"):
            raise ApiError(401, "Wrong.")
        return SimpleNamespace(user_id=int(secret.removeprefix("right-")))

    monkeypatch.setattr(large_bodies, "check_token", check)
    return LargeBodies()


async def statuses(bodies: LargeBodies, tokens: list[str]) -> list[int]:
    """Return with which errors the largest bodies with these tokens are refused."""
    refused: list[int] = []
    begun = [
        bodies.begin(max_bytes(), token, lambda error: refused.append(error.status))
        for token in tokens
    ]
    await asyncio.gather(*(body.check for body in begun))
    return refused


async def test_wrong_tokens_take_nobodys_room(bodies: LargeBodies) -> None:
    assert await statuses(bodies, [WRONG] * (BODIES_AT_ONCE + 1)) == [401] * (BODIES_AT_ONCE + 1)
    assert await statuses(bodies, [RIGHT.format(1)]) == []


async def test_a_person_has_room_for_one_of_the_largest(bodies: LargeBodies) -> None:
    assert await statuses(bodies, [RIGHT.format(1)] * 2) == [429]
    assert await statuses(bodies, [RIGHT.format(2)]) == []


async def test_all_together_have_room_for_a_few(bodies: LargeBodies) -> None:
    tokens = [RIGHT.format(person) for person in range(BODIES_AT_ONCE + 1)]
    assert await statuses(bodies, tokens) == [429]


async def test_few_tokens_are_checked_at_once(bodies: LargeBodies) -> None:
    tasks = [bodies.begin(1, WRONG, lambda _: None).check for _ in range(MAX_UNCHECKED_BODIES)]
    with pytest.raises(ApiError):
        bodies.begin(1, WRONG, lambda _: None)
    await asyncio.gather(*tasks)
