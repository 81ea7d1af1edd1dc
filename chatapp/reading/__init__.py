"""Reads files and images in threads: what people attach, import or send, and what tools return.

`contents` reads files in the sandbox, `storing` stores what was read, `images` reads and scales the
images of a request to a model, and `tool_images` those of tools.

Imports `tools`, `models`, `documents` and what is below them.
"""
