"""Findings of waste, and recommendations."""
