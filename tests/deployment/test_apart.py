"""Two installations that share a Redis."""

from redis import Redis as Client

from tests.deployment.services import Redis
from tests.support.live import Person, Site
from tests.support.viewer import Viewer


async def test_neither_listens_where_the_other_speaks(
    team: Site, redis: Redis, alice: Person
) -> None:
    """Their people have the same numbers, of which channels are named."""
    with team.server(REDIS_URL=redis.url) as first, team.server(REDIS_URL=redis.url) as second:
        async with Viewer.opened(first, alice), Viewer.opened(second, alice):
            with Client.from_url(redis.url) as client:
                listeners = dict(client.pubsub_numsub(*client.pubsub_channels()))
    assert len(listeners) >= 2
    assert set(listeners.values()) == {1}
