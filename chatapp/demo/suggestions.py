"""Suggested prompts on an empty page for the demo; `answers` has a fitting answer to each."""

SUGGESTIONS = (
    "What can you do?",
    "Show me a table of the planets",
    "Write a short code example in Python",
    "Explain a theorem, with the math",
)
