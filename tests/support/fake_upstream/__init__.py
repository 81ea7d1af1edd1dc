"""A scripted upstream for tests: a real HTTP/1.1 server on a loopback port, in a thread of its own.

    with FakeUpstream() as upstream:
        pause = Pause()
        upstream.script(reasoning("Hm. "), delta("Hello"), pause, delta("!"), finish(), done())
        ...                                   # something asks upstream.base_url for a reply
        request = upstream.wait_for_request()  # or: await upstream.until_requested()
        pause.release()
        close = request.wait_for_close()       # or: await request.until_closed()

A script is a list of steps: `bytes` are written as they are, in one piece; `Pause`, `Delay`,
`Stall`, `Abort` and `Close` do what they say. After the last step the response ends properly and
the connection stays open. Requests without a script of their own get `upstream.default`.
"""

from tests.support.fake_upstream.frames import (
    MODEL,
    answer,
    choice,
    chunk,
    delay_frames,
    delta,
    done,
    error,
    finish,
    frame,
    reasoning,
    refusal,
    role,
    usage,
)
from tests.support.fake_upstream.server import FakeUpstream, Request
from tests.support.fake_upstream.steps import (
    Abort,
    Close,
    Delay,
    Pause,
    Script,
    Stall,
    Step,
    build_response,
)

__all__ = [
    "MODEL",
    "Abort",
    "Close",
    "Delay",
    "FakeUpstream",
    "Pause",
    "Request",
    "Script",
    "Stall",
    "Step",
    "answer",
    "build_response",
    "choice",
    "chunk",
    "delay_frames",
    "delta",
    "done",
    "error",
    "finish",
    "frame",
    "reasoning",
    "refusal",
    "role",
    "usage",
]
