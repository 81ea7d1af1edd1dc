"""Projects: folders of conversations, with instructions and a model for new chats.

The owner may share one with people, groups or everyone who signs in. Members read all chats in it;
some of them may add chats of their own. Each chat stays its author's.
"""

import uuid
from typing import ClassVar, Self

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q

from chatapp.models import audit
from chatapp.models.accounts.audiences import AudienceEntry, is_for
from chatapp.models.accounts.users import User
from chatapp.models.library.presets import Preset
from chatapp.models.library.sharing import NO_SHARING, NOT_A_MEMBER, groups_to_share_with
from chatapp.models.platform.installation import Installation
from chatapp.models.platform.upstreams import ModelChoice, Upstream
from chatapp.models.refusals import Refused

MAX_NAME_LENGTH = 80
MAX_INSTRUCTIONS_LENGTH = 20_000  # characters; they are sent with every turn
MAX_PROJECTS = 200  # per person, since the sidebar shows all of them
MAX_MEMBERS = 200  # entries of a project
TOO_MANY = f"A project can be shared with {MAX_MEMBERS} people and groups at most."
NOT_THE_OWNER = "Only the owner can share this project."


class ProjectQuerySet(models.QuerySet["Project"]):
    def open_to(self, user: User) -> Self:
        """Return the projects that a person owns, or that are shared with them."""
        return self.filter(Q(user=user) | Exists(_entries_for(user)))

    def writable_by(self, user: User) -> Self:
        """Return the projects to which a person may add chats."""
        return self.filter(Q(user=user) | Exists(_entries_for(user).filter(may_add=True)))

    def shared(self) -> Self:
        """Return the projects that are shared with anybody."""
        return self.filter(Exists(ProjectMember.objects.filter(target=OuterRef("pk"))))


class Project(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="projects")
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    instructions = models.TextField(
        blank=True, help_text="Sent to the model before the conversation."
    )
    upstream = models.ForeignKey(Upstream, models.SET_NULL, null=True, blank=True)
    model = models.CharField(max_length=200, blank=True)
    preset = models.ForeignKey(
        Preset, models.SET_NULL, null=True, blank=True, related_name="+", help_text="Of new chats."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[ProjectQuerySet] = models.Manager.from_queryset(ProjectQuerySet)()  # type: ignore[assignment]

    # Set by the query of the sidebar.
    is_own: bool
    lets_add: bool

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name

    @property
    def stored_bytes(self) -> int:
        return len(self.name.encode()) + len(self.instructions.encode())

    @property
    def preselected_model(self) -> ModelChoice | None:
        """The model preselected for its new chats, if it has one."""
        if self.upstream_id is None or not self.model:
            return None
        return ModelChoice(self.upstream_id, self.model)

    @property
    def is_shared(self) -> bool:
        return self.members.exists()

    def is_open_to(self, user: User) -> bool:
        """Whether the person owns it or is a member."""
        return self.user_id == user.pk or self.members.filter(is_for(user)).exists()

    def is_writable_by(self, user: User) -> bool:
        """Whether the person may add chats to it."""
        return self.user_id == user.pk or self.members.filter(is_for(user), may_add=True).exists()

    @transaction.atomic
    def share(self, entries: "list[ProjectMember]", by: User) -> None:
        """Add members, or change what they may do. Raises `Refused`."""
        if self.user_id != by.pk:
            raise Refused(NOT_THE_OWNER)
        if not Installation.load().lets_share(by):
            raise Refused(NO_SHARING)
        allowed = set(groups_to_share_with(by).values_list("pk", flat=True))
        if any(entry.group_id and entry.group_id not in allowed for entry in entries):
            raise Refused(NOT_A_MEMBER)
        for entry in entries:
            self.members.update_or_create(
                person=entry.person, group=entry.group, defaults={"may_add": entry.may_add}
            )
        if self.members.count() > MAX_MEMBERS:
            raise Refused(TOO_MANY)
        for entry in entries:
            detail = {"with": entry.recorded_name, "right": entry.right}
            audit.record("project.shared", actor=by, about=self, detail=detail)

    @transaction.atomic
    def unshare(self, entry: "ProjectMember", by: User) -> None:
        """Remove an entry: its owner, an administrator, or the person named leaves."""
        name, is_oneself = entry.recorded_name, entry.person_id == by.pk
        entry.delete()
        action = "project.left" if is_oneself else "project.unshared"
        audit.record(action, actor=by, about=self, detail={"with": name})


class ProjectMember(AudienceEntry):
    """One of those with whom a project is shared, and what they may do."""

    target = models.ForeignKey(Project, models.CASCADE, related_name="members")
    may_add = models.BooleanField("can add chats", default=False)

    class Meta(AudienceEntry.Meta):
        pass

    @property
    def right(self) -> str:
        return "Can add chats" if self.may_add else "Can read"

    @property
    def recorded_name(self) -> str:
        """The name in the audit log, which names people by id."""
        return f"person {self.person_id}" if self.person_id else self.name


def _entries_for(user: User) -> "models.QuerySet[ProjectMember]":
    return ProjectMember.objects.filter(is_for(user), target=OuterRef("pk"))
