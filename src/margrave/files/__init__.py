"""Files that Margrave writes: models, and any file that is written whole or not at all."""
