"""The model that a check uses."""

from chatapp.upstream.check import model_for_chat


def test_a_chat_model_is_preferred() -> None:
    assert model_for_chat(["text-embedding-3", "whisper-1", "gpt-4o"]) == "gpt-4o"
    assert model_for_chat(["text-embedding-3"]) == "text-embedding-3"
    assert model_for_chat([]) == ""
