"""Tools of the whole package, which know nothing of sequences."""
