"""Parts from weights and back: one file a feature map."""
