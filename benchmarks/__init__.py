"""Measurements of Margrave and of its rivals on the field's corpora."""
