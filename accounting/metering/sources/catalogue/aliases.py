"""Names of known metrics as collectors rewrite them: in small letters, with `_total` (trap T42).

OpenTelemetry's collectors add `_total` to counters, others write names in small letters. Both leave
the value as it is, so such a name is read as the known one. Any other name only resembles it.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches

SUFFIX = "_total"
ALIKE = 0.8  # of `difflib`: the least that two names have in common to be compared


def aliases_of(names: Collection[str]) -> dict[str, str]:
    """Every alias of some names, with its name; none that is a name itself."""
    found = {}
    for name in names:
        folded = name.casefold()
        endings = ("",) if folded.endswith(SUFFIX) else ("", SUFFIX)
        for alias in (one + ending for one in (name, folded) for ending in endings):
            if alias not in names:
                found[alias] = name
    return found


def resembled(name: str, known: Mapping[str, object]) -> str:
    """The known name that an unknown one resembles most; "" if it resembles none.

    A name that begins with a known one has a unit or a suffix that the catalogue does not have.
    """
    folded = {one.casefold(): one for one in sorted(known)}
    text = name.casefold()
    within = [one for one in folded if text.startswith(f"{one}_")]
    close = within or get_close_matches(text, folded, 1, ALIKE)
    return folded[max(close, key=len)] if close else ""
