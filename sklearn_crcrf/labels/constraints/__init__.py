"""Constraints: on transitions, and on the labels of whole samples."""
