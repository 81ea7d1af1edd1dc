"""Connects the workers of one installation: liveness, messages, and replies watched from elsewhere.

Typed `messages` travel over the `bus`: Channels' `layer`, or a `null_bus` if there is only one
worker. Import the `layer` only if it is used: it loads the Redis client.
The `heartbeat` tells the database that this worker is alive and reports what it says of the others.
A `Cluster` keeps the `remotes`, replies of other workers that viewers here watch, and the
`followers`, workers that watch replies here. It knows no generation: what it cannot do itself it
yields to its worker as events.

Imports `realtime.journal`, `realtime.viewers` and what is below `realtime`.
"""

from chatapp.realtime.cluster.bus import Bus
from chatapp.realtime.cluster.cluster import Cluster, Event, SnapshotRequested, StaleViewers
from chatapp.realtime.cluster.heartbeat import (
    Heartbeat,
    HeartbeatReport,
    HeartbeatSource,
    StreamingReply,
)
from chatapp.realtime.cluster.null_bus import NullBus, NullHeartbeat
from chatapp.realtime.cluster.remote import RemoteReply

__all__ = [
    "Bus",
    "Cluster",
    "Event",
    "Heartbeat",
    "HeartbeatReport",
    "HeartbeatSource",
    "NullBus",
    "NullHeartbeat",
    "RemoteReply",
    "SnapshotRequested",
    "StaleViewers",
    "StreamingReply",
]
