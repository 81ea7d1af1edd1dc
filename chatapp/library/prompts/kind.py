"""Prompts as a kind of item in the pages of the library."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from chatapp.library import saving
from chatapp.library.kinds import Kind
from chatapp.library.prompts.formats import prompts_in
from chatapp.library.prompts.forms import PromptForm
from chatapp.models import Refused, RememberedValues, SavedPrompt, User
from chatapp.models.library.prompts import MAX_COMMAND_LENGTH, MAX_PROMPTS
from chatapp.models.library.sharing import DELETED_DAYS, Level

IMPORTED_AT_ONCE = 50  # in one transaction
NAMED = 5  # problems that are told one by one


class Prompts(Kind[SavedPrompt]):
    name = "prompt"
    model = SavedPrompt
    max_owned = MAX_PROMPTS
    max_listed = 200
    max_unsearched = 0
    searched = "title or command"
    copied_at = Level.USE
    created = "Saved. Type a slash in the message box to use it."
    deleted = f"Deleted. It is at the end of this page for {DELETED_DAYS} days, to be restored."
    max_file_bytes = 5 * 1024 * 1024
    file_help = "JSON, up to {}: an export of this app, or of Open WebUI's prompts."

    def search(self, query: str) -> Any:
        is_named = Q(title__icontains=query) | Q(command__icontains=query.removeprefix("/"))
        return SavedPrompt.objects.filter(is_named).select_related("owner").defer("text")

    def list_context(self, user: User) -> Mapping[str, Any]:
        return {"has_values": RememberedValues.objects.filter(user=user).exists()}

    def form(self, user: User, data: Any, item: SavedPrompt | None = None) -> PromptForm:
        return PromptForm(data, user, item)

    def adapt_contents(self, owner: User, contents: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """Number the commands that the owner or an earlier prompt has."""
        commands = FreeCommands(SavedPrompt.objects.owned_by(owner))
        return [
            {**content, "command": commands.reserve(content["command"])} for content in contents
        ]

    def export_items(self, user: User, items: Iterable[SavedPrompt]) -> list[dict[str, Any]]:
        return [prompt.content for prompt in items]

    def import_items(self, user: User, data: bytes) -> Sequence[str]:
        entries, problems = prompts_in(data)
        own = {(prompt.title, prompt.text) for prompt in SavedPrompt.objects.owned_by(user)}
        new_entries = [entry for entry in entries if (entry["title"], entry["text"]) not in own]
        saving.check_number(self, user, len(new_entries))
        for start in range(0, len(new_entries), IMPORTED_AT_ONCE):
            try:
                saving.add(self, user, new_entries[start : start + IMPORTED_AT_ONCE])
            except Refused as refused:
                if not start:
                    raise
                return [
                    *_summarise_import(start, len(entries) - len(new_entries), problems),
                    str(refused),
                ]
        return _summarise_import(len(new_entries), len(entries) - len(new_entries), problems)


PROMPTS = Prompts()


class FreeCommands:
    """Gives each prompt a command that its owner has not."""

    def __init__(self, prompts: "QuerySet[SavedPrompt]") -> None:
        self._taken = set(prompts.values_list("command", flat=True))
        self._numbers: dict[str, int] = {}  # the last one given to each command

    def reserve(self, command: str) -> str:
        """Return the command, or the first one with a number that is not taken."""
        if not command:
            return ""
        free, number = command, self._numbers.get(command, 1)
        while free in self._taken:
            number += 1
            free = f"{command[: MAX_COMMAND_LENGTH - 1 - len(str(number))]}-{number}"
        self._numbers[command] = number
        self._taken.add(free)
        return free


def _summarise_import(
    imported_count: int, known_count: int, problems: Sequence[str]
) -> Sequence[str]:
    sentences = [f"{_format_count(imported_count)} imported."]
    if known_count:
        sentences.append(f"{_format_count(known_count)} there already.")
    if problems:
        sentences.append(f"{_format_count(len(problems))} left out: {'; '.join(problems[:NAMED])}")
        sentences[-1] += "; and others." if len(problems) > NAMED else "."
    return sentences


def _format_count(count: int) -> str:
    return "1 prompt was" if count == 1 else f"{count:,} prompts were"
