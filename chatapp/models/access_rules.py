"""What people may use: the one place that says so, for pages, sockets and tools alike.

Everything is everybody's until it is given to groups. What is given is their people's alone, and a
model's own rule counts before that of its upstream. A rule whose last group is gone lets nobody in,
so that nothing opens by itself.

Who asks an upstream for a reply, or for tools, learns it by the statement that reads them, so that
it costs none of its own and is as it is at that moment.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group
from django.db import models, transaction
from django.db.models import Case, Exists, Expression, OuterRef, Q, Value, When

from chatapp.models.statements import Query
from chatapp.models.users import User

LONGEST_MODEL = 200
EVERYBODY = "Everybody"
NOT_YOURS = "This model is not open to you. Choose another, or ask an administrator for it."


class AccessRuleQuerySet(models.QuerySet["AccessRule"]):
    def give(self, groups: "Collection[Group] | None", **what: Any) -> None:
        """Says to whom this is given; None is everybody."""
        with transaction.atomic():
            if groups is None:
                self.filter(**what).delete()
                return
            rule, _ = self.get_or_create(**what)
            rule.groups.set(groups)

    def given_to(self, **what: Any) -> list[str]:
        """The names of the groups that have this; `EVERYBODY` where it was not given."""
        rule = self.filter(**what).first()
        return [one.name for one in rule.groups.all()] if rule else [EVERYBODY]

    def as_record(self) -> list[dict[str, Any]]:
        """Of what each of them is, and to whom that is given."""
        rules = self.order_by("model").prefetch_related("groups")
        return [
            {"model": rule.model, "groups": [one.name for one in rule.groups.all()]}
            for rule in rules
        ]


class AccessRule(models.Model):
    """One upstream, one model of an upstream, or one tool server, and the groups that have it."""

    upstream = models.ForeignKey("chatapp.Upstream", models.CASCADE, null=True, related_name="+")
    model = models.CharField(max_length=LONGEST_MODEL, blank=True, default="")  # "": all of them
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
    """Of an upstream: whether the person of this primary key may ask this model of it."""
    of_it = AccessRule.objects.filter(upstream=OuterRef("pk"))
    return _first_that_says(
        of_it.filter(model=model), of_it.filter(model=""), groups={"groups__user": person}
    )


def server_is_open(person: Any) -> Expression:
    """Of a tool server: whether its tools are this person's to have called."""
    of_it = AccessRule.objects.filter(tool_server=OuterRef("pk"))
    return _first_that_says(of_it, groups={"groups__user": person})


def _first_that_says(
    *rules: "models.QuerySet[AccessRule]", groups: Mapping[str, object]
) -> Expression:
    cases = [When(Exists(rule), then=Exists(rule.filter(**groups))) for rule in rules]
    return Case(*cases, default=Value(True), output_field=models.BooleanField())


@dataclass(frozen=True)
class Permitted:
    """The same for all that there is, of one person."""

    _models: Mapping[tuple[int | None, str], bool]
    has_rules: bool

    def may_ask(self, upstream: int, model: str) -> bool:
        whole = self._models.get((upstream, ""), True)
        return self._models.get((upstream, model), whole)


def permitted(person: int) -> Permitted:
    """What a page offers the person of this primary key."""
    rules = _RULES.all(person)
    theirs = {(one.upstream_id, one.model): bool(vars(one)["is_theirs"]) for one in rules}
    return Permitted(theirs, bool(theirs))


_RULES = Query(
    lambda person: AccessRule.objects.exclude(upstream=None).annotate(
        is_theirs=Exists(Group.objects.filter(access_rules=OuterRef("pk"), user=person))
    ),
    User._meta.pk,
)
