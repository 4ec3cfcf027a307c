"""Chains of segments."""
