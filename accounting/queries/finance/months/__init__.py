"""Months as rows: statements, charges, entries, contests, corrections."""
