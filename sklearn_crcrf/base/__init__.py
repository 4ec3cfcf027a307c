"""The base of all sequence classifiers."""
