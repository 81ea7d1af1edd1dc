"""Who may come in: whose session holds, and for how long; from which pages."""
