"""Django's backend of SQLite, in which no thread waits for another one's lock."""
