"""Backups: one archive of the database and the files in DATA_DIR, for `backup` and `restore`.

`archive` reads, writes and verifies the file and its manifest. `sqlite` and `postgres` dump and
restore a database with its own tools. `data_dir` lists the other files to back up. All raise
`CommandError` with a sentence that says what to do.

Imports `accounts`, `models` and what is below them.
"""
