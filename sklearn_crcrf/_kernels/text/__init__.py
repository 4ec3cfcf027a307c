"""Kernels that read strings."""
