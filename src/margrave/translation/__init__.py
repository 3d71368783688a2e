"""Tuning and reranking translations: pseudo-references, minimum error rate training."""
