"""The library: the pages of what people save and share, and the list of prompts in the composer.

`prompts` and `presets` describe their `Kind` to the pages that they share. Imports `accounts`,
`realtime`, `catalogue`, `sessions`, `models`, `text` and what is below them.
"""
