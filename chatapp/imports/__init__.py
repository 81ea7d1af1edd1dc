"""Imports of chats from other apps: the pages, and the job that reads an export and stores it.

There are three roles. The reader, `chatapp.transfer`, turns files into neutral records;
`uploaded_export` gives it the uploaded files. The importer turns records into rows: `importer` for
one person, `team` for several. The report, `report`, is what the preview and the result say.

A chat is stored by `chat_writer`, with `rows`, `chat_settings`, `files` and `projects` for its
parts. `duplicates` tells what is here already, `jobs` runs an import phase by phase, and
`models.imports` has the rows of imports and undoes them.
"""
