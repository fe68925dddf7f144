"""What finance changes: prices, months, entries, contests, budgets, bills, files."""
