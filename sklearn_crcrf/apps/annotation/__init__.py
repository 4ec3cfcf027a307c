"""Annotation of text by people, while a model learns from every sentence: no web, no display."""

from ...utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
