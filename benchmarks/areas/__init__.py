"""One module an area, each with its ``CASES``."""
