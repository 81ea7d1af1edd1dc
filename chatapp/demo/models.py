"""The models that the demo offers."""

from dataclasses import dataclass

from chatapp.demo.wire import OPENTOKEN, Dialect


@dataclass(frozen=True, slots=True)
class DemoModel:
    """Whether it thinks aloud before it answers, and the form in which it writes."""

    reasons: bool
    dialect: Dialect


# The first is the one that a newcomer gets.
MODELS = {
    "demo-reasoner": DemoModel(reasons=True, dialect=OPENTOKEN),
    "demo-plain": DemoModel(reasons=False, dialect=OPENTOKEN),
}
