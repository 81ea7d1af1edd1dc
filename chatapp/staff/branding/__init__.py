"""The installation's colour and logo, served as files to everybody.

Imports `models` and what is below it.
"""
