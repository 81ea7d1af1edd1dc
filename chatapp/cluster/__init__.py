"""Several workers of one installation: who lives, what they tell each other, whose reply is shown.

`messages` cross the `bus`, typed; that is Channels' `layer`, or `alone` where there is one worker.
The `heartbeat` tells the database that this worker lives, and brings what it says of the others.
A `Cluster` keeps `remotes`, which viewers here await, and `followers`, which show what is written
here; it knows no generation, and tells its worker by events what it can't do by itself.
"""

from chatapp.cluster.alone import Alone, NoHeartbeat
from chatapp.cluster.bus import Bus
from chatapp.cluster.cluster import Cluster, Event, SnapshotAsked, Stale
from chatapp.cluster.heartbeat import Beating, Heartbeat, Sighting, Streaming
from chatapp.cluster.layer import LayerBus, post_from_outside
from chatapp.cluster.remote import RemoteReply

__all__ = [
    "Alone",
    "Beating",
    "Bus",
    "Cluster",
    "Event",
    "Heartbeat",
    "LayerBus",
    "NoHeartbeat",
    "RemoteReply",
    "Sighting",
    "SnapshotAsked",
    "Stale",
    "Streaming",
    "post_from_outside",
]
