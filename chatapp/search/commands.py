"""The app's commands, which the search dialog finds by their words.

Each opens a page, activates a control that is already on the page, or chooses a preference of the
browser, so nothing is implemented twice.
"""

from dataclasses import dataclass

from django.urls import reverse

from chatapp.models import User
from chatapp.search.words import has_words
from chatapp.text.indexing import Term


@dataclass(frozen=True)
class Command:
    label: str
    icon: str
    goes_to: str = ""  # a URL name
    presses: str = ""  # a CSS selector
    chooses: str = ""  # a preference and its value, as in `scheme=dark`
    also: str = ""  # further words to find it by
    for_role: str = ""  # the property of `User` that allows it

    @property
    def url(self) -> str:
        return reverse(self.goes_to) if self.goes_to else ""


def _folder(name: str) -> str:
    return f'[data-folder-link="{name}"]'


COMMANDS = (
    Command("New chat", "plus", presses="[data-new-chat]", also="start conversation ask"),
    Command("New project", "folder", presses='[data-opens="new-project"]', also="create folder"),
    Command("Keyboard shortcuts", "keyboard", presses='[data-opens="shortcuts"]', also="keys"),
    Command("Help", "help", "help", also="how manual about"),
    Command("Prompts", "pencil", "prompts", also="saved library templates slash commands"),
    Command("Presets", "book-open", "presets", also="system prompt assistants agents library"),
    Command("Import chats", "download", "imports", also="chatgpt claude openwebui librechat bring"),
    Command("Exports", "download", "exports", also="download markdown pdf json html csv backup"),
    Command("Shared links", "link", "shared-links", also="share chats public revoke"),
    Command("Archive", "archive", presses=_folder("archive"), also="archived conversations list"),
    Command("Trash", "trash", presses=_folder("trash"), also="deleted conversations restore bin"),
    Command("Dark theme", "sliders", chooses="scheme=dark", also="scheme night colour settings"),
    Command("Light theme", "sliders", chooses="scheme=light", also="scheme day colour settings"),
    Command("The system's theme", "sliders", chooses="scheme=", also="scheme auto settings"),
    *(
        Command(label, icon, goes_to, also=also, for_role=role)
        for label, icon, goes_to, also, role in (
            ("Review", "eye", "review", "read conversations flagged", "reviews"),
            ("People", "user-plus", "people", "invite roles groups administration", "administers"),
            ("Usage", "outline", "usage", "cost tokens administration", "administers"),
            ("Limits", "percent", "limits", "budgets prices administration", "administers"),
            ("Policy", "eye", "policy", "review administration", "administers"),
            ("Retention", "trash", "retention", "keep hold administration", "administers"),
            ("Audit", "outline", "audit", "log events administration", "administers"),
            ("Settings", "sliders", "settings", "branding notice administration", "administers"),
            ("Models", "sliders", "upstreams", "providers gateway administration", "administers"),
            ("Tool servers", "sliders", "tool-servers", "mcp administration", "administers"),
        )
    ),
    Command(
        "Preferences", "sliders", "preferences", also="settings theme text size notifications send"
    ),
    Command(
        "Name and email address", "sliders", "profile", also="settings account profile own display"
    ),
    Command("Change password", "key", "account_change_password", also="settings account security"),
    Command("Sign out", "log-out", presses="[data-sign-out] button", also="log out leave account"),
)
FIRST = 4  # shown while nothing is typed


def commands(user: User, terms: list[Term]) -> list[Command]:
    """Return the user's commands in which each term begins some word."""
    own = [
        command for command in COMMANDS if not command.for_role or getattr(user, command.for_role)
    ]
    if not terms:
        return own[:FIRST]
    return [command for command in own if has_words(f"{command.label} {command.also}", terms)]
