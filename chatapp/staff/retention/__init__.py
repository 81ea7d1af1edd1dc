"""How long things are kept, as an administrator sets it, who first sees what would go."""
