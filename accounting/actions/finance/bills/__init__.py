"""Importing bills of providers, and matching their lines again (money.md M41, M42)."""
