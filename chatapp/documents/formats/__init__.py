"""A module for each format, with `read(file, limits)`. All of this runs in the sandbox.

Importing a module also imports what it needs later, because the sandbox opens no files.
"""
