"""Access rules: which people may use which models and tools, for pages, sockets and tools alike.

Without a rule everybody has access. With one, only the members of its groups do; a model's own rule
takes precedence over that of its upstream. A rule without groups, such as one whose last group was
deleted, lets nobody in, so that access never opens by itself.

Access is checked in the statement that reads the upstream or the tools, so that the check needs no
statement of its own and is always current.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group
from django.db import models, transaction
from django.db.models import Case, Exists, Expression, OuterRef, Q, Value, When

from chatapp.db.statements import Query
from chatapp.models.accounts.users import User

MAX_MODEL_LENGTH = 200
EVERYBODY = "Everybody"
NOT_YOURS = "You don't have access to this model. Choose another one, or ask an administrator."


class AccessRuleQuerySet(models.QuerySet["AccessRule"]):
    def restrict_to(self, groups: "Collection[Group] | None", **what: Any) -> None:
        """Restrict this to the members of `groups`; None removes the restriction."""
        with transaction.atomic():
            if groups is None:
                self.filter(**what).delete()
                return
            rule, _ = self.get_or_create(**what)
            rule.groups.set(groups)

    def list_group_names(self, **what: Any) -> list[str]:
        """Return the names of the groups that have access; `[EVERYBODY]` without a rule."""
        rule = self.filter(**what).first()
        return [group.name for group in rule.groups.all()] if rule else [EVERYBODY]

    def as_record(self) -> list[dict[str, Any]]:
        """Return each rule's model and the names of its groups, for the audit log."""
        rules = self.order_by("model").prefetch_related("groups")
        return [
            {"model": rule.model, "groups": [group.name for group in rule.groups.all()]}
            for rule in rules
        ]


class AccessRule(models.Model):
    """The groups that may use one upstream, one model of an upstream, or one tool server."""

    upstream = models.ForeignKey("chatapp.Upstream", models.CASCADE, null=True, related_name="+")
    model = models.CharField(max_length=MAX_MODEL_LENGTH, blank=True, default="")  # "": all models
    tool_server = models.ForeignKey(
        "chatapp.ToolServer", models.CASCADE, null=True, related_name="+"
    )
    groups = models.ManyToManyField(Group, related_name="access_rules")

    objects = models.Manager.from_queryset(AccessRuleQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["upstream", "model"], name="access_rule_of_a_model"),
            models.UniqueConstraint(fields=["tool_server"], name="access_rule_of_a_server"),
            models.CheckConstraint(
                condition=Q(upstream=None) ^ Q(tool_server=None), name="access_rule_of_one_thing"
            ),
        ]

    def __str__(self) -> str:
        return f"Access rule {self.pk}"


def model_is_open(model: Any, person: Any) -> Expression:
    """Annotate upstreams: whether the person with this primary key may use this model of it."""
    rules = AccessRule.objects.filter(upstream=OuterRef("pk"))
    return _apply_first_rule(
        rules.filter(model=model), rules.filter(model=""), groups={"groups__user": person}
    )


def server_is_open(person: Any) -> Expression:
    """Annotate tool servers: whether this person's replies may call its tools."""
    rules = AccessRule.objects.filter(tool_server=OuterRef("pk"))
    return _apply_first_rule(rules, groups={"groups__user": person})


def _apply_first_rule(
    *rules: "models.QuerySet[AccessRule]", groups: Mapping[str, object]
) -> Expression:
    cases = [When(Exists(rule), then=Exists(rule.filter(**groups))) for rule in rules]
    return Case(*cases, default=Value(True), output_field=models.BooleanField())


@dataclass(frozen=True)
class ModelAccess:
    """The access rules of all upstreams and models, evaluated for one person."""

    _models: Mapping[tuple[int | None, str], bool]
    has_rules: bool

    def may_ask(self, upstream: int, model: str) -> bool:
        whole = self._models.get((upstream, ""), True)
        return self._models.get((upstream, model), whole)


def load_model_access(person: int) -> ModelAccess:
    """Return what the person with this primary key may use, to build a page's list of models."""
    rules = _RULES.all(person)
    access_by_model = {
        (rule.upstream_id, rule.model): bool(vars(rule)["is_theirs"]) for rule in rules
    }
    return ModelAccess(access_by_model, bool(access_by_model))


# Prepared: saves 0.4 ms of each chat page.
_RULES = Query(
    lambda person: AccessRule.objects.exclude(upstream=None).annotate(
        is_theirs=Exists(Group.objects.filter(access_rules=OuterRef("pk"), user=person))
    ),
    User._meta.pk,
)
