"""Structures: the sets of labellings that are summed and maximised over."""

from .chain import Chain, Edges, Parts

__all__ = ["Chain", "Edges", "Parts"]
