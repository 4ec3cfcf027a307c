"""Graphs, whatever the engine of inference."""
