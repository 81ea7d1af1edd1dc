"""What strangers try: one file a subject."""
