"""Kernels of trees and forests, and of learning on them."""
