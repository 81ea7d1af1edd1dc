"""The demo's models."""

from dataclasses import dataclass

from chatapp.demo.dialects import AIGATEWAY, AIVENE, OPENAI, OPENTOKEN, Dialect


@dataclass(frozen=True, slots=True)
class DemoModel:
    """A model: its dialect, whether it reasons before it answers, where the reasoning goes, whether
    it takes images, and whether it pretends to search the web."""

    dialect: Dialect
    reasons: bool = False
    thinks_in_tags: bool = False
    takes_images: bool = True
    searches: bool = False


EFFORTS = ("none", "low", "medium", "high")  # with the first, a model doesn't reason

# The first one is the default.
MODELS = {
    "demo-reasoner": DemoModel(OPENTOKEN, reasons=True, searches=True),
    "demo-plain": DemoModel(OPENTOKEN, takes_images=False),
    "demo-openai": DemoModel(OPENAI),
    "demo-aivene": DemoModel(AIVENE, reasons=True),
    "demo-aigateway": DemoModel(AIGATEWAY, reasons=True),
    "demo-think-tags": DemoModel(OPENTOKEN, reasons=True, thinks_in_tags=True),
}
