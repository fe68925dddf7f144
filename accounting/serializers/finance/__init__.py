"""Rows and bodies of prices, months and budgets."""
