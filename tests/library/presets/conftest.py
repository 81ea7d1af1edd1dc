"""Alice's preset, and what a form of hers posts."""

import pytest

from chatapp.models import Preset, User


@pytest.fixture
def preset(alice: User) -> Preset:
    return Preset.start(
        alice,
        name="Translator",
        description="Into English",
        system_prompt="Translate into English.",
        parameters={"temperature": 0.25, "extra": {"top_k": 20}},
        suggestions=["Bonjour"],
    )
