"""Backups: one archive of the database and of DATA_DIR's own files, for `backup` and `restore`.

`archive` knows the file, its manifest and how to doubt both; `sqlite` and `postgres` copy a
database out and in with the database's own tools; `data_dir` tells what else is kept.
Each raises `CommandError` with what to do.

Imports `accounts`, `models` and what is below them.
"""
