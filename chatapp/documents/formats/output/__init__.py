"""The text that readers write: pages of Markdown, with their pictures and marks in their places."""
