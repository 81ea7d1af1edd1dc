"""Search over a person's own messages, replies and conversations, and over the app's commands."""
