"""Pages of months: their close, statements, charges, entries, contests."""
