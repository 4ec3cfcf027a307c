"""Kernels of graphs and junction trees."""
