"""Tools for the whole package, which know nothing of sequences."""
