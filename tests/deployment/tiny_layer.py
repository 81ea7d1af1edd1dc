"""The app's settings with a channel layer that holds one message for each process and drops the
rest, as a full one does.
"""

from chatapp.settings import *  # noqa: F403
from chatapp.settings import REDIS_URL

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # Without a time-out of its own, which would end its waiting for messages.
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}], "capacity": 1},
    }
}
