"""Forms of prices and price lists."""
