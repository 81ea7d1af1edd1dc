"""The words that arrive of small documents of all formats.

The documents are built by code, one for each thing that readers of files tend to lose. A word
arrives if the text that a model is sent has it, as often as the document does.
"""
