"""Loaders of the benchmark corpora, each in its own format, and the learning problems that are made of them."""
