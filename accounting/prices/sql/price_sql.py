"""Which price applies to a row of time, in SQL (rules.md N24, N26, N27; money.md M14).

The only SQL that finds prices; `accounting/prices/rules/price_match.py` is the same rule over
values. Time is a row with the columns model, cluster_id, profile, lifecycle and tier, and `at`,
the start of its windows; a price is a row with those columns of `accounting_unitprice`.
"""

_SETS = (
    "{p}.cluster_id IS NOT NULL",
    "{p}.profile <> ''",
    "{p}.lifecycle <> ''",
    "{p}.tier <> ''",
)


def matches(price: str, time: str) -> str:
    """SQL condition: a price matches the time, ignoring its validity.

    Args:
        price, time: aliases of the two rows.
    """
    same = " AND ".join(
        f"({price}.{name} = '' OR {price}.{name} = {time}.{name})"
        for name in ("profile", "lifecycle", "tier")
    )
    return f"""{price}.model = {time}.model AND {same}
      AND ({price}.cluster_id IS NULL OR {price}.cluster_id = {time}.cluster_id)"""


def specificity(price: str) -> str:
    """A row value that is greater the more a price sets; ties in the order of N26."""
    sets = [text.format(p=price) for text in _SETS]
    count = " + ".join(f"({text})::int" for text in sets)
    return f"({count}, {', '.join(sets)})"


_IS_VALID = "p.valid_from <= c.at AND (p.valid_to IS NULL OR p.valid_to > c.at)"


def _best(kind: str, among: str = "true") -> str:
    return f"""
    SELECT p.id, p.rate_per_gpu_hour AS {kind}, p.currency
    FROM accounting_unitprice p
    WHERE {matches("p", "c")} AND p.kind = '{kind}' AND {among}
      AND {_IS_VALID}
    ORDER BY {specificity("p")} DESC
    LIMIT 1
"""


def _first(among: str) -> str:
    return f"(array_agg(p ORDER BY {specificity('p')} DESC) FILTER (WHERE {among}))[1]"


PRICES = f"""
    SELECT {_first("p.kind = 'rate'")} AS line,
           {_first("p.kind = 'rate' AND p.profile = '' AND p.tier = ''")} AS own,
           {_first("p.kind = 'cost'")} AS paid
    FROM accounting_unitprice p WHERE {matches("p", "c")} AND {_IS_VALID}
"""
"""A SELECT of three prices of the row `c`, as rows of `accounting_unitprice` or NULL.

`line` is charged; `own` is that of the whole GPU, for any holder of its parts; `paid` is what an
hour of the GPU costs: by cluster and lifecycle only.
"""

SPOT_PRICE = _best("rate", "p.lifecycle = 'spot' AND p.currency = c.currency")
"""A SELECT of the price for spot nodes of the row `c`, in its currency."""

LINE_PRICE_WITHOUT = _best("rate", "p.id <> c.without")
"""The same as `LINE_PRICE`, without the price `c.without`."""

OWN_PRICE_WITHOUT = _best(
    "rate", "p.profile = '' AND p.tier = '' AND p.id <> c.without"
)
"""The same as `OWN_PRICE`, without the price `c.without`."""
