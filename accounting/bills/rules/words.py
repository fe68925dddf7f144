"""The word of each row of a bill: what it is of, or why it is of nothing (money.md M41, M42)."""

MATCHED = {
    "node": "The resource is a node.",
    "last_part": "The last part of the resource's id matches one node.",
    "account": "The account belongs to a cluster.",
}
UNMATCHED = {
    "no_resource": (
        "The row names no resource, as fees do. Nothing needs to be done, unless the account "
        "belongs to one cluster: set its billing_account in the setup file."
    ),
    "ambiguous": (
        "Several nodes have this id on that day. Export full ids of resources, or check why two "
        "nodes report the same machine."
    ),
    "no_gpu": (
        "The node or cluster had no GPU time on that day. Nothing needs to be done for nodes "
        "without GPUs; otherwise import the metrics of that day, then match again."
    ),
    "unknown": (
        "No node had this id on that day. If it is a GPU node, check that kube_node_info is "
        "collected and has its provider_id. For other resources, nothing needs to be done."
    ),
}
"""Words of rows that are of no node, with what to do."""

LEFT_OUT = {
    "purchase": "A purchase is not a cost of use: its use has rows of its own.",
    "tax": "A tax is not a cost of use.",
}
FAULTS = {
    "bad_number": "not a number",
    "too_precise": "more than 16 decimal places",
    "bad_currency": "not a currency, or not the one of the rows above",
    "bad_date": "not a time",
    "bad_period": "ends before it begins, or is too long",
    "bad_category": "not a category of charges",
    "no_account": "names no account",
    "bad_text": "text that cannot be stored",
    "bad_row": "more or fewer cells than the header",
}
"""Words of rows that make the whole file unusable: without them its total would be wrong."""
TITLES = {
    "node": "Of a node",
    "last_part": "Of a node, by the end of its id",
    "account": "Of a cluster's account",
    "no_resource": "No resource",
    "ambiguous": "Several nodes",
    "no_gpu": "No GPU time",
    "unknown": "No such node",
    "purchase": "Purchase",
    "tax": "Tax",
}
"""What pages call these words."""
