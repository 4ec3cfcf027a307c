"""Files of models: what may be in them, how they are unpacked, and how they replace others."""
