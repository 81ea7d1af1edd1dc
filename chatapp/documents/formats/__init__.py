"""A module or a package for each format. All of this runs in the sandbox.

`detection` names the module that reads a file: it has `read(file, limits)`. Importing a module also
imports what it needs later, because the sandbox opens no files.
"""
