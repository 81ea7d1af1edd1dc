"""Erasing people for good: their accounts, their chats and files, and every trace of them.

`people.py` erases them, with what they share passed on by `handing_over.py`; `register.py` keeps
the list that a restored backup needs, and `report.py` counts what was deleted and what is left.
What deletes the rows of one model is beside that model.

Imports `realtime`, `models` and what is below them.
"""
