"""From raw data to attributes: one file per kind of input."""
