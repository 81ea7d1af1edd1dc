"""The pages of usage: the tokens, money and time of replies, for administrators and for oneself.

Imports `accounts`, `models` and what is below them.
"""
