"""Segments: from labels in any scheme to (sequence, start, end, type), and back."""
