"""Tasks and data."""
