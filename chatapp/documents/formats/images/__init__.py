"""Images: read, turned upright and scaled down."""
