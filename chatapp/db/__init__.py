"""What Django's database layer needs beside models: backends, primary keys from requests, retries.

Imports nothing of the app.
"""
