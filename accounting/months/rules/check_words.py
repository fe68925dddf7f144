"""The words of the checks of a close (money.md M27)."""

CHECK_TITLES = {
    "over": "Month over",
    "settled": "Time to settle",
    "order": "Earlier months",
    "windows": "Windows",
    "hours": "Hours",
    "conservation": "Conservation",
    "coverage": "Coverage",
    "unpriced": "Prices",
    "unconverted": "Conversion rates",
    "unmapped": "Charges without a team",
    "entries": "Entries of earlier months",
    "without_gpus": "Nodes without GPUs",
    "never_sampled": "GPUs without samples",
    "unmapped_any": "Time without a team",
    "team_coverage": "Coverage of teams",
    "dark": "Dark time",
    "estimated": "Estimated time",
    "contests": "Contests",
    "bills": "Bills",
    "moved": "Month before",
}
"""Of every check, as a page names it; its code is that of REST and commands."""

CHECK_ACTIONS = {
    "order": "Open the month",
    "windows": "Open data health",
    "hours": "Open data health",
    "conservation": "Open the proofs",
    "coverage": "Open data health",
    "unpriced": "Open prices",
    "unconverted": "Open prices",
    "unmapped": "Assign namespaces",
    "entries": "Enter it again",
    "without_gpus": "Open data issues",
    "never_sampled": "Open data issues",
    "unmapped_any": "Assign namespaces",
    "team_coverage": "Open data health",
    "dark": "Open data issues",
    "estimated": "Open data issues",
    "contests": "Answer contests",
    "bills": "Open bills",
    "moved": "See what changed",
}
"""The button of a check that fails, which opens `CloseCheck.link`; the others need only time."""
