"""Chains."""
