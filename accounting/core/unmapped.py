"""Usage without a team."""

UNMAPPED = "unmapped"  # the `team` of usage without a binding (N29)
