"""Chats in shared projects: which of them members read, and which leave a project.

A chat leaves the project as soon as its author may no longer add chats to it.
"""

from typing import Any

from django.contrib.auth.models import Group
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.signals import m2m_changed, post_delete
from django.dispatch import receiver

from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation, ConversationQuerySet
from chatapp.models.conversations.chats.projects import Project, ProjectMember


def chats_of_others(project: Project, user: User) -> ConversationQuerySet:
    """Return the chats in a project that this member reads: those of people who may add chats.

    The caller has checked that the project is open to the person. Archived and temporary chats, the
    trash, and those of deactivated people are left out.
    """
    chats = Conversation.objects.in_project(project.pk).filter(user__is_active=True)
    authors = Q(user=project.user_id) | Exists(_entries_of_authors())
    return chats.filter(authors).exclude(user=user)


def move_out_of_projects(**of: Any) -> set[int]:
    """Move chats out of projects to which their authors may no longer add any.

    The arguments select the chats. Returns the authors.
    """
    filed = Conversation.objects.filter(project__isnull=False, **of)
    strange = filed.exclude(user=F("project__user")).exclude(Exists(_entries_of_authors()))
    author_by_chat = dict(strange.order_by().values_list("pk", "user"))
    Conversation.objects.filter(pk__in=author_by_chat).update(project=None)
    return set(author_by_chat.values())


def _entries_of_authors() -> Any:
    """Return the entries that let the author of a conversation add it to its project."""
    groups = Group.objects.filter(user=OuterRef(OuterRef("user")))
    is_theirs = Q(person=None, group=None) | Q(person=OuterRef("user")) | Q(group__in=groups)
    return ProjectMember.objects.filter(is_theirs, target=OuterRef("project"), may_add=True)


@receiver(post_delete, sender=ProjectMember)
def _member_removed(instance: ProjectMember, **_: Any) -> None:
    """By its owner, an administrator, the member, or with the account or the group."""
    move_out_of_projects(project=instance.target_id)


@receiver(m2m_changed, sender=User.groups.through)
def _group_left(
    instance: User | Group, action: str, pk_set: set[int] | None, reverse: bool, **_: Any
) -> None:
    if action not in ("post_remove", "post_clear"):
        return
    if not reverse:
        move_out_of_projects(user=instance.pk)
    elif pk_set is not None:
        move_out_of_projects(user__in=pk_set)
    else:
        move_out_of_projects(project__members__group=instance.pk)
