"""Labelled sequences as HTML for notebooks, and as plain text elsewhere."""
