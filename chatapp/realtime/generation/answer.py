"""The answer of a model to one request or to several in turn, with its cost and its budget."""

from chatapp.models import Usage
from chatapp.models.conversations.messages.costs import Cost
from chatapp.realtime.generation.budget_guard import BudgetGuard
from chatapp.upstream.wire.reply import Ending, Reply


class Answer:
    """An answer. `choices` are those of the latest request: one, unless `n` asks for more."""

    def __init__(self, budget: BudgetGuard) -> None:
        self.budget = budget
        self.cost = Cost()
        self.choices = [Reply()]
        self.refused_usage_option = False  # the upstream sends no usage if it is asked for

    @property
    def reply(self) -> Reply:
        """The first choice."""
        return self.choices[0]

    @property
    def others(self) -> list[Reply]:
        return self.choices[1:]

    @property
    def has_arrived(self) -> bool:
        return any(choice.has_arrived for choice in self.choices)

    @property
    def was_lost(self) -> bool:
        """Whether the connection ended before anything arrived, without an error."""
        return not self.has_arrived and not self.reply.error and self.reply.ending is Ending.CUT_OFF

    @property
    def usage(self) -> Usage:
        """The usage of all requests so far."""
        return self.cost.usage(self.choices)

    def begin_request(self, choices: int) -> None:
        """Forget what an earlier request of this round answered, but not what that cost."""
        self.cost.end_try(self.choices)
        self.choices = [Reply(choice) for choice in range(choices)]

    def begin_round(self) -> None:
        """Begin the answer to a further request, with results of tools or more of a text."""
        self.choices = [Reply()]

    def restart(self) -> None:
        """Begin again with another model, which has its own cost."""
        self.cost, self.choices = Cost(), [Reply()]
        self.refused_usage_option = False
