"""How many rows a report may read."""

MOST_ROWS = (
    1_000_000  # 8,192 GPUs for 120 days by day, 5 days by hour, 10 hours by window
)
