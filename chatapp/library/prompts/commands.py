"""The app's own commands in the list that a slash opens.

Each activates a control that is on the page, or calls what the menu of a chat calls, so nothing is
implemented twice. A command whose control isn't there, or is hidden, isn't listed.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    name: str
    label: str
    presses: str = ""  # a CSS selector
    does: str = ""  # a function of static/js/composer/slash-entries.js, for the shown chat


COMMANDS = (
    Command("new", "New chat", "[data-new-chat]"),
    Command("model", "Choose the model", "#model"),
    Command("temporary", "Temporary chat on or off", ".temporary-choice input"),
    Command("attach", "Attach files", ".composer .attach"),
    Command("outline", "Outline of this chat", ".topbar-outline"),
    Command("export", "Export this chat", does="exported"),
    Command("archive", "Archive this chat", does="archived"),
    Command("search", "Search chats", 'a[data-opens="search"]'),
    Command("project", "New project", '[data-opens="new-project"]'),
    Command("archived", "Archived chats", '[data-folder-link="archive"]'),
    Command("trash", "Trash", '[data-folder-link="trash"]'),
    Command("prompts", "Your prompts", "[data-prompts]"),
    Command("shortcuts", "Keyboard shortcuts", '[data-opens="shortcuts"]'),
)
