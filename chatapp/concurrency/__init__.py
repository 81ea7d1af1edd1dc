"""Fair sharing: of the event loop's time, and of actions per second."""
