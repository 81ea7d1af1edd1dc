"""The request parameters that a person can set for a chat.

`table` declares each parameter once: its names in the interface, its kind of value, and what an
administrator's rule for it can say. Checking (`values`), rules, forms and the documentation follow
from that. How a gateway spells them is in `upstream.wire.requests.spellings`. Pure: no I/O, no
Django.
"""
