"""Kernels of semi-Markov chains."""
