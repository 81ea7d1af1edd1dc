"""What makes the app an installation's own, as files for everybody: a colour and a logo."""
