"""Chains over a few candidate labels per token."""
