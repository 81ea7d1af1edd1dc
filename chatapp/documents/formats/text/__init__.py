"""Text in any encoding, HTML, notebooks and SVG."""
