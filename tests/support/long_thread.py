"""A long conversation stored at once: prompts and replies in turn, each with its number."""

from dataclasses import dataclass
from uuid import UUID, uuid4, uuid5

from tests.support.live import Person, Server

STORE = """
from uuid import UUID, uuid5
from chatapp.models import Conversation, Message, Upstream, Usage, User

conversation = Conversation.objects.create(
    pk=UUID({pk!r}), user=User.objects.get(username={username!r}), title="A long one"
)
upstream = Upstream.objects.first()
ids = [uuid5(conversation.pk, str(number)) for number in range({length})]

def message(number):
    stored = Message(
        id=ids[number],
        conversation=conversation,
        parent_id=ids[number - 1] if number else None,
        role="assistant" if number % 2 else "user",
        content=f"Prompt {{number}}",
    )
    if number % 2:
        stored.content = f"**Reply {{number}}** " + "says a word more. " * (number % 7 * 5 + 1)
        stored.ending, stored.upstream, stored.model = "complete", upstream, "google/gemini-3-flash"
    return stored

Message.objects.bulk_create(map(message, range({length})), batch_size=500)
Usage.objects.bulk_create([
    Usage(message_id=pk, provenance="reported", prompt_tokens=9, total_tokens=18)
    for pk in ids[1::2]
])
"""


@dataclass(frozen=True)
class LongThread:
    """A stored conversation and its messages' ids; even numbers are prompts."""

    pk: UUID
    length: int

    @property
    def path(self) -> str:
        return f"/c/{self.pk}/"

    def id(self, number: int) -> UUID:
        return uuid5(self.pk, str(number))

    def selector(self, number: int) -> str:
        return f"#{'reply' if number % 2 else 'm'}-{self.id(number)}"


def store_long_thread(server: Server, person: Person, length: int = 1000) -> LongThread:
    pk = uuid4()
    script = STORE.format(pk=str(pk), username=person.username, length=length)
    server.run(script)
    return LongThread(pk, length)
