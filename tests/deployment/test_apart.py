"""Two installations that share a Redis."""

from redis import Redis as Client

from tests.deployment.services import Redis
from tests.support.live import Person, Site
from tests.support.viewer import Viewer


async def test_two_installations_share_no_channel(team: Site, redis: Redis, alice: Person) -> None:
    """People in both have the same ids, which are part of channel names."""
    with team.server(REDIS_URL=redis.url) as first, team.server(REDIS_URL=redis.url) as second:
        async with Viewer.open_tab(first, alice), Viewer.open_tab(second, alice):
            with Client.from_url(redis.url) as client:
                listeners = dict(client.pubsub_numsub(*client.pubsub_channels()))
    assert len(listeners) >= 2
    assert set(listeners.values()) == {1}
