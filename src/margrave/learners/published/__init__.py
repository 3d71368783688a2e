"""The algorithms of the papers as printed, and the bounds that their theorems state."""
