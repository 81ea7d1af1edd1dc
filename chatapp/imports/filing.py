"""Puts imported chats into projects, and pins them, within the limits of a person."""

from uuid import UUID

from chatapp.imports.figures import Result
from chatapp.imports.project_names import ProjectNames, has_folder, project_key
from chatapp.models import Conversation, Import, Project
from chatapp.models.conversations.folders import MAX_PINNED
from chatapp.models.conversations.projects import MAX_PROJECTS
from chatapp.transfer import SourceChat

TOO_MANY_PROJECTS = f"You have {MAX_PROJECTS} projects, which is the most, so it is in none."
TOO_MANY_PINNED = f"You have {MAX_PINNED} pinned chats, which is the most, so it isn't pinned."


class ProjectAssigner:
    def __init__(self, job: Import, result: Result) -> None:
        self._job = job
        self._result = result
        self._names = ProjectNames(job.user_id)

    def assign(self, conversation: Conversation, chat: SourceChat) -> None:
        """Set the project and the pin of a chat that is about to be stored."""
        if self._job.makes_projects and has_folder(chat):
            conversation.project_id = self._project(chat)
            if conversation.project_id is None:
                self._result.reasons.add(TOO_MANY_PROJECTS, chat.title)
        if chat.is_pinned:
            pinned = self._job.user.conversations.filter(is_pinned=True, trashed_at=None)
            conversation.is_pinned = pinned.count() < MAX_PINNED
            if not conversation.is_pinned:
                self._result.reasons.add(TOO_MANY_PINNED, chat.title)

    def _project(self, chat: SourceChat) -> UUID | None:
        key = project_key(self._job.user_id, chat)
        own = Project.objects.filter(user=self._job.user_id)
        if own.filter(pk=key).exists():
            return key
        name = self._names.name_for(chat)
        if chat.folder and (project := own.filter(name=name).first()):
            return project.pk
        if own.count() >= MAX_PROJECTS:
            return None
        Project.objects.create(pk=key, user=self._job.user, name=name)
        self._result.projects.append(str(key))
        return key
