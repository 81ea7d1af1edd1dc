"""Django's PostgreSQL backend, whose migrations run without the app's triggers."""
