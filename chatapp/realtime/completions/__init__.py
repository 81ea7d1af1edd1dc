"""Chat completions for people's scripts, which nothing is stored of but their usage.

`requests` is what is asked of which model, on whose budget. `completions` sends it, with the
retries and fallbacks of a reply, and ends it when its token is revoked or this process stops.

Imports `realtime.generation` and what is below `realtime`.
"""

from chatapp.realtime.completions.completions import Completion, Completions, Take
from chatapp.realtime.completions.requests import ApiRequest, Asked, NotPermitted

__all__ = ["ApiRequest", "Asked", "Completion", "Completions", "NotPermitted", "Take"]
