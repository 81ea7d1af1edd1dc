"""What a stranger may try: each subject is a file, and what it tries is made by generators here."""
