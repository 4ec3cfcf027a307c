"""Kernels of lattices of candidate labels."""
