"""Names the projects that are made for folders of an export, of which some have only an id."""

from itertools import count
from uuid import UUID, uuid5

from chatapp.imports.rows import NAMESPACE
from chatapp.models import Project
from chatapp.models.conversations.projects import MAX_NAME_LENGTH
from chatapp.transfer import SourceChat
from chatapp.transfer.values import line

UNNAMED = "{} project {}"  # with the app and a number


def has_folder(chat: SourceChat) -> bool:
    return bool(chat.folder or chat.folder_id)


def project_key(user_id: int, chat: SourceChat) -> UUID:
    """Return the key that the project of the chat's folder has whenever this person imports it."""
    return uuid5(NAMESPACE, f"{user_id} {chat.source} folder {chat.folder_id or chat.folder}")


class ProjectNames:
    """Names the projects of an import by its folders; those without a name get a number."""

    def __init__(self, user_id: int) -> None:
        self._user_id = user_id
        self._names: dict[UUID, str] = {}
        self._numbers = count(1)  # that no project without a name has had
        self._taken: set[str] | None = None  # read once, when the first name is made

    def name_for(self, chat: SourceChat) -> str:
        """Return the name of the project for the chat's folder; "" if it has none."""
        if not has_folder(chat):
            return ""
        key = project_key(self._user_id, chat)
        if key not in self._names:
            stored = Project.objects.filter(pk=key, user=self._user_id).first()
            self._names[key] = stored.name if stored else self._new_name(chat)
        return self._names[key]

    def _new_name(self, chat: SourceChat) -> str:
        if self._taken is None:
            stored = Project.objects.filter(user=self._user_id).order_by()
            self._taken = set(stored.values_list("name", flat=True))
        numbered = (UNNAMED.format(chat.source.label, number) for number in self._numbers)
        name = line(chat.folder, MAX_NAME_LENGTH) if chat.folder else ""
        name = name or next(name for name in numbered if name not in self._taken)
        self._taken.add(name)
        return name
