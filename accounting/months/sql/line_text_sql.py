"""The text of a line, as its id and the hash of a close read it, in SQL (money.md M12, M29).

The rule over values is `accounting/months/rules/close_hash.py`; a test compares both.
"""

from accounting.core.charge_lines import KEY_FIELDS


def line_text(alias: str) -> str:
    """The array of the line's 22 fields, RFC 8785."""
    texts = [
        *(key_text(alias, name) for name in KEY_FIELDS[:-1]),
        f"coalesce(trim_scale({alias}.fx)::text, '')",
        f"{alias}.ms::text",
        f"trim_scale({alias}.raw)::text",
        f"{alias}.charge::numeric(26, 6)::text",
        *(f"{alias}.{name}" for name in ("status", "corrects", "reference")),
    ]
    return _array(texts)


def line_id(alias: str) -> str:
    """32 hex digits (M12). Parameters: period, revision."""
    texts = [
        "%(period)s::text",
        "%(revision)s::text",
        *(key_text(alias, name) for name in KEY_FIELDS),
        *(f"{alias}.{name}" for name in ("corrects", "reference")),
    ]
    return f"left(encode(sha256(convert_to({_array(texts)}, 'UTF8')), 'hex'), 32)"


def key_text(alias: str, name: str) -> str:
    """A field of the key as text: by its bytes lines are sorted and ties are broken."""
    if name == "billing_on":
        return f"coalesce(to_char({alias}.billing_on::timestamp, 'YYYY-MM-DD'), '')"
    if name == "rate":
        return f"coalesce(trim_scale({alias}.rate)::text, '')"
    return f"{alias}.{name}"


def _array(texts: list[str]) -> str:
    """One call for all fields takes half the time of a call for each; a null is `null`."""
    return f"to_json(ARRAY[{', '.join(texts)}])::text"
