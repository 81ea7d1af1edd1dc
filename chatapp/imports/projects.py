"""Turns the folders of an export into projects of its person. Some folders have only an id."""

from itertools import count
from uuid import UUID, uuid5

from chatapp.imports.report import ImportReport
from chatapp.imports.rows import NAMESPACE
from chatapp.models import Project, User
from chatapp.models.conversations.chats.projects import MAX_NAME_LENGTH, MAX_PROJECTS
from chatapp.transfer import SourceChat
from chatapp.transfer.values import line

UNNAMED = "{} project {}"  # with the app and a number
TOO_MANY = f"You have {MAX_PROJECTS} projects, which is the most, so it is in none."


class ProjectImporter:
    """Names and makes the projects of one import by its folders.

    A folder has the same project whenever its person imports it. Folders without a name get a
    number.
    """

    def __init__(self, user: User) -> None:
        self._user = user
        self._projects = Project.objects.filter(user=user)
        self._names: dict[UUID, str] = {}
        self._numbers = count(1)  # that no project without a name has had
        self._taken: set[str] | None = None  # read once, when the first name is made

    def get_name(self, chat: SourceChat) -> str:
        """Return the name of the project for the chat's folder; "" if it has none."""
        if not (folder := chat.folder_id or chat.folder):
            return ""
        key = self._make_key(chat, folder)
        if key not in self._names:
            project = self._projects.filter(pk=key).first()
            self._names[key] = project.name if project else self._make_name(chat)
        return self._names[key]

    def get_or_create(self, chat: SourceChat, report: ImportReport) -> UUID | None:
        """Return the project for the chat's folder, if it has one and there is room for another."""
        if not (folder := chat.folder_id or chat.folder):
            return None
        key = self._make_key(chat, folder)
        if self._projects.filter(pk=key).exists():
            return key
        name = self.get_name(chat)
        if chat.folder and (project := self._projects.filter(name=name).first()):
            return project.pk
        if self._projects.count() >= MAX_PROJECTS:
            report.add_reason(TOO_MANY, chat.title)
            return None
        Project.objects.create(pk=key, user=self._user, name=name)
        report.projects.append(str(key))
        return key

    def _make_key(self, chat: SourceChat, folder: str) -> UUID:
        return uuid5(NAMESPACE, f"{self._user.pk} {chat.source} folder {folder}")

    def _make_name(self, chat: SourceChat) -> str:
        if self._taken is None:
            self._taken = set(self._projects.order_by().values_list("name", flat=True))
        numbered = (UNNAMED.format(chat.source.label, number) for number in self._numbers)
        name = line(chat.folder, MAX_NAME_LENGTH) if chat.folder else ""
        name = name or next(name for name in numbered if name not in self._taken)
        self._taken.add(name)
        return name
