"""An upgrade from version 0.4.0 keeps what people stored."""

import json

from tests.support.live import Site, run

LAST_MIGRATION = "0037_facts_with_conversations"

STORE = f"""
import django; django.setup()
from datetime import timedelta
from uuid import UUID
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

state = MigrationExecutor(connection).loader.project_state([("chatapp", "{LAST_MIGRATION}")])
of = lambda name: state.apps.get_model("chatapp", name).objects
now = timezone.now()
ann = of("User").create(username="ann", email="ann@example.org", password=make_password("secret"))
rita = of("User").create(username="rita", reviews=True)
gateway = of("Upstream").create(name="Gateway", base_url="http://127.0.0.1:9/v1", api_key="sk-old")
work = of("Project").create(user=ann, name="Work", instructions="Be brief.")
chat = of("Conversation").create(user=ann, title="Sky", project=work)
prompt = of("Message").create(conversation=chat, role="user", content="Why is the sky blue?")
reply = of("Message").create(
    conversation=chat, role="assistant", parent=prompt, upstream=gateway, model="m",
    content="Rayleigh scattering.", reasoning="Think.", ending="complete",
)
of("Conversation").filter(pk=chat.pk).update(active_leaf=reply.pk)
of("Usage").create(
    message_id=reply.pk, user_id=ann.pk, upstream=gateway, upstream_name="Gateway", model="m",
    prompt_tokens=7, completion_tokens=3, total_tokens=10, cost=500, provenance="reported",
    ending="complete", booked_at=now, day=now.date(),
)
of("Feedback").create(message=reply, rating="up", note="Good", given_at=now)
limit = of("Limit").create(measure="tokens", period="month", cap=1000)
account = of("Allowance").create(limit=limit, user=None, spent=10, held=5)
of("Share").create(allowance=account, message=UUID(int=1), process=UUID(int=2), held=5)
of("Review").create(conversation=chat, verdict="minor")
of("Hold").create(conversation=chat, process=UUID(int=2))
of("Invitation").create(
    token_hash="0" * 64, address="new@example.org", expires_at=now + timedelta(days=1)
)
"""

READ = """
import django, json; django.setup()
from chatapp.models import *
ann = User.objects.get(username="ann")
chat = ann.conversations.get()
prompt, reply = chat.messages.order_by("sequence")
account, hold = BudgetAccount.objects.get(), BudgetHold.objects.get()
print(json.dumps({
    "people": sorted(User.objects.values_list("username", "email", "reviews")),
    "can sign in": ann.check_password("secret"),
    "key": Upstream.objects.get(name="Gateway").api_key,
    "chat": [chat.title, chat.project.name, chat.project.instructions],
    "texts": [prompt.content, reply.content, reply.reasoning, reply.ending],
    "usage": [Usage.objects.get().total_tokens, Usage.objects.get().cost],
    "sums": list(DailyUsage.objects.values_list("booked", "prompt_tokens", "cost")),
    "feedback": [reply.feedback.rating, reply.feedback.note],
    "budget": [account.limit.cap, account.spent, account.held, hold.account_id == account.pk],
    "verdict": Review.objects.get().get_verdict_display(),
    "holds": TemporaryHold.objects.count(),
    "facets": sorted(ConversationFacet.objects.values_list("fact", flat=True)),
    "invitations": list(Invitation.objects.values_list("address", flat=True)),
}))
"""


def test_data_of_version_0_4_survives_the_upgrade(site: Site) -> None:
    environment = site.nothing()
    run(environment, "manage.py", "migrate", "--verbosity", "0", "chatapp", LAST_MIGRATION[:4])
    run(environment, "-c", STORE)
    run(environment, "manage.py", "migrate", "--verbosity", "0")
    assert json.loads(run(environment, "-c", READ).stdout) == {
        "people": [["ann", "ann@example.org", False], ["rita", "", True]],
        "can sign in": True,
        "key": "sk-old",
        "chat": ["Sky", "Work", "Be brief."],
        "texts": [
            "Why is the sky blue?",
            "Rayleigh scattering.",
            "Think.",
            "complete",
        ],
        "usage": [10, 500],
        "sums": [[1, 7, 500]],
        "feedback": ["up", "Good"],
        "budget": [1000, 10, 5, True],
        "verdict": "Minor issue",
        "holds": 1,
        "facets": ["feedback", "feedback up", "model m", "upstream 1"],
        "invitations": ["new@example.org"],
    }
    assert "correct" in run(environment, "manage.py", "usage", "verify").stdout
