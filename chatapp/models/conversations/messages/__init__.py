"""Messages and what they consist of: replies with their rounds, tool calls, images and cost."""
