"""What the empty page suggests to ask the demo; `answers` has something fitting for each."""

SUGGESTIONS = (
    "What can you do?",
    "Show me a table of the planets",
    "Write a short code example in Python",
    "Explain a theorem, with the math",
)
