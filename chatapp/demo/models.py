"""The models that the demo offers."""

from dataclasses import dataclass

from chatapp.demo.dialects import AIGATEWAY, AIVENE, OPENAI, OPENTOKEN, Dialect


@dataclass(frozen=True, slots=True)
class DemoModel:
    """Whether it thinks aloud before it answers, where, and the form in which it writes."""

    dialect: Dialect
    reasons: bool = False
    thinks_in_tags: bool = False


# The first is the one that a newcomer gets.
MODELS = {
    "demo-reasoner": DemoModel(OPENTOKEN, reasons=True),
    "demo-plain": DemoModel(OPENTOKEN),
    "demo-openai": DemoModel(OPENAI),
    "demo-aivene": DemoModel(AIVENE, reasons=True),
    "demo-aigateway": DemoModel(AIGATEWAY, reasons=True),
    "demo-think-tags": DemoModel(OPENTOKEN, reasons=True, thinks_in_tags=True),
}
