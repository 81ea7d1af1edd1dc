"""The app's help: two Markdown files, shown on the pages under /help/ and quoted by the demo.

Imports nothing else of the app.
"""
