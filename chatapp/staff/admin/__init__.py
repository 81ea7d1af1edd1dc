"""The admin site: people and groups, upstreams, tool servers, suggestions.

Importing the modules registers their models. `confirmed` asks for the password before sensitive
changes, `secret_forms` has forms for write-only secrets, `recorded` logs changes, and `inquiries`
has pages that query an upstream or a tool server.

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
