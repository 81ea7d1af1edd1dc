"""People: accounts, the browsers they use, what each may use, and their pseudonyms.

Imports `db` and `refusals`.
"""
