"""Files that Margrave writes: models, and files that are replaced atomically."""
