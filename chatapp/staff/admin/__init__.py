"""The admin site: people and groups, upstreams, tool servers, suggestions.

A module a subject; importing them registers them. `confirmed` asks for the password before what
matters is changed, `secret_forms` takes what is never shown again, and `inquiries` are the pages
that ask an upstream or a tool server what it does.

Imports `accounts`, `catalogue`, `models`, `upstream.check` and what is below them.
"""

from chatapp.staff.admin import people, site, suggestions, tool_servers, upstreams

__all__ = [
    "people",
    "site",
    "suggestions",
    "tool_servers",
    "upstreams",
]
