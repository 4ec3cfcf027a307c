"""Kernels of sparse matrices, counts and weights."""
