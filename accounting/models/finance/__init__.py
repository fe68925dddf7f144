"""Tables of prices, months, budgets, bills and files."""
