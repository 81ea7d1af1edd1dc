"""The app as a stranger meets it: what foreign text, other people and floods may not do."""
