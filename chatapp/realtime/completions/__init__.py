"""Chat completions for people's scripts. Only their usage is stored.

`requests` says what a model is asked, and who pays for it. `completions` sends it, with the
retries and fallbacks of a reply, and ends it when its token is revoked or this process stops.

Imports `realtime.generation` and what is below `realtime`.
"""

from chatapp.realtime.completions.completions import Completion, Completions, OnEvents
from chatapp.realtime.completions.requests import ApiRequest, CompletionRequest, NotPermitted

__all__ = [
    "ApiRequest",
    "Completion",
    "CompletionRequest",
    "Completions",
    "NotPermitted",
    "OnEvents",
]
