"""Nobody takes more than their part: of the event loop, of what may be done a second."""
