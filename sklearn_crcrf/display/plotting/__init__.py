"""Displays of models and of their errors, in the style of scikit-learn; they need matplotlib."""
