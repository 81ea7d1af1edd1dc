"""The app's settings with a channel layer that holds one message per process and drops the rest, as
a full one does."""

from chatapp.settings import *  # noqa: F403
from chatapp.settings import REDIS_URL

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # Without a socket timeout, which would end the wait for messages.
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}], "capacity": 1},
    }
}
