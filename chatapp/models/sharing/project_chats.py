"""A chat in a shared project, as another member reads it."""

from dataclasses import dataclass
from typing import ClassVar, Self
from uuid import UUID

from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.project_chats import chats_of_others
from chatapp.models.conversations.chats.projects import Project


@dataclass
class ProjectChat:
    """The branch that the author of a chat reads, with all its parts."""

    COPY_ACTION: ClassVar[str] = "project.chat_copied"

    project: Project
    conversation: Conversation
    shows_reasoning: bool = True
    shows_tools: bool = True
    shows_files: bool = True
    shows_author: bool = True

    @classmethod
    def find(cls, user: User, project: UUID, chat: UUID) -> Self | None:
        """Return a chat of another member in a project that is open to the person."""
        open_project = Project.objects.open_to(user).filter(pk=project).first()
        if open_project is None:
            return None
        chats = chats_of_others(open_project, user).select_related("user")
        conversation = chats.filter(pk=chat).first()
        return cls(open_project, conversation) if conversation else None

    @property
    def conversation_id(self) -> UUID:
        return self.conversation.pk

    @property
    def message_id(self) -> None:
        """It has no fixed end."""
        return

    def is_open_to(self, user: User) -> bool:
        return self.find(user, self.project.pk, self.conversation.pk) is not None
