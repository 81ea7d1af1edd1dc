"""The text that a person wants every model to know: who they are, and how to answer them."""

from django.db import models

from chatapp.db.statements import Query
from chatapp.models.accounts.users import User

MAX_MEMORY_LENGTH = 4_000  # characters of each text; they are sent with every turn

ABOUT = "What the person you are talking to says about themselves:"
ANSWERS = "How they want you to answer:"


class Memory(models.Model):
    """Two texts of a person, sent as part of the system message while `is_on`."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="memory")
    about = models.TextField("about me", blank=True, max_length=MAX_MEMORY_LENGTH)
    answers = models.TextField("how to answer", blank=True, max_length=MAX_MEMORY_LENGTH)
    is_on = models.BooleanField("use these in my chats", default=True)

    def __str__(self) -> str:
        return f"Memory of {self.user}"

    @property
    def instructions(self) -> str:
        """The part of the system message that says this; empty if there is nothing to say."""
        sections = ((ABOUT, self.about.strip()), (ANSWERS, self.answers.strip()))
        return "\n\n".join(f"{heading}\n{text}" for heading, text in sections if text)

    @staticmethod
    def load_instructions(user: int) -> str:
        """Return the instructions of this person's memory; empty if it is off."""
        memory = _ACTIVE_MEMORY.first(user)
        return memory.instructions if memory else ""


_ACTIVE_MEMORY = Query(
    lambda user: Memory.objects.filter(user=user, is_on=True).order_by(), User._meta.pk
)
