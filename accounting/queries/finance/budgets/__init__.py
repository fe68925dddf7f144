"""Spending over time as rows: budgets, their forecast, unusual days."""
