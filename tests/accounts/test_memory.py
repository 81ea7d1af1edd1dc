"""The text about a person that models are to know: stored, sent first, and switched off."""

import pytest
from django.test import Client

from chatapp.models import Memory, User
from chatapp.models.accounts.memory import MAX_MEMORY_LENGTH

pytestmark = pytest.mark.django_db


def test_a_memory_is_stored_and_changed(alices: Client, alice: User) -> None:
    alices.post("/preferences/memory/", {"about": "A nurse.", "answers": "Briefly.", "is_on": "on"})
    assert Memory.load_instructions(alice.pk) == (
        "What the person you are talking to says about themselves:\nA nurse.\n\n"
        "How they want you to answer:\nBriefly."
    )
    alices.post("/preferences/memory/", {"about": "", "answers": "At length.", "is_on": "on"})
    assert Memory.load_instructions(alice.pk) == "How they want you to answer:\nAt length."


def test_a_memory_that_is_off_is_kept_but_not_sent(alices: Client, alice: User) -> None:
    alices.post("/preferences/memory/", {"about": "A nurse.", "answers": ""})
    assert Memory.load_instructions(alice.pk) == ""
    assert "A nurse." in alices.get("/preferences/").content.decode()


def test_a_memory_that_is_too_long_is_refused_and_stays_in_the_form(alices: Client) -> None:
    text = "x" * (MAX_MEMORY_LENGTH + 1)
    page = alices.post("/preferences/memory/", {"about": text, "answers": ""}).content.decode()
    assert text in page
    assert "at most 4000 characters" in page
    assert not Memory.objects.exists()
