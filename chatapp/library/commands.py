"""The app's own commands in the list that a slash opens.

Each activates a control that is on the page, so nothing is implemented twice; a command whose
control isn't there, or is hidden, isn't listed.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    name: str
    label: str
    icon: str
    presses: str  # a CSS selector


COMMANDS = (
    Command("new", "New chat", "plus", "[data-new-chat]"),
    Command("model", "Choose the model", "sliders", "#model"),
    Command("temporary", "Temporary chat on or off", "eye", ".temporary-choice input"),
    Command("attach", "Attach files", "paperclip", ".composer .attach"),
    Command("outline", "Outline of this chat", "outline", ".topbar-outline"),
    Command("search", "Search chats", "search", 'a[data-opens="search"]'),
    Command("project", "New project", "folder", '[data-opens="new-project"]'),
    Command("archive", "Archived chats", "archive", '[data-folder-link="archive"]'),
    Command("trash", "Trash", "trash", '[data-folder-link="trash"]'),
    Command("prompts", "Your prompts", "pencil", "[data-prompts]"),
    Command("shortcuts", "Keyboard shortcuts", "keyboard", '[data-opens="shortcuts"]'),
)
