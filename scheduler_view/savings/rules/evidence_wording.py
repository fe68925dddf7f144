"""What rules of waste compared, as short texts of pages."""

from collections.abc import Callable, Mapping
from typing import Any


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """What a rule compared, as one short text; empty without evidence."""
    parts = [write(evidence) for key, write in _EVIDENCE.items() if key in evidence]
    return ", ".join(parts)


def _limit(found: Mapping[str, Any]) -> str:
    held, limit = (_hours(found[key]) for key in ("held_ms", "limit_ms"))
    source = f" ({found['limit_from']})" if "limit_from" in found else ""
    return f"held {held}, limit {limit}{source}"


def _spot(found: Mapping[str, Any]) -> str:
    """Findings of older versions do not have the limits."""
    text = f"its longest hold lasted {_hours(found['longest_ms'])}"
    if "below_ms" not in found:
        return text
    pods = "1 pod" if found["pods"] == 1 else f"{found['pods']} pods"
    return (
        f"{text}, the limit is {_hours(found['below_ms'])}; {pods} at the same time, "
        f"the limit is {found['most_pods']}"
    )


def _lost(found: Mapping[str, Any]) -> str:
    if not found["checkpoint_ms"]:
        return f"between 0 and {_hours(found['busy_ms'])} of busy GPU time"
    return (
        f"a checkpoint every {_hours(found['checkpoint_ms'])}: "
        f"{_hours(found['busy_ms'] // 2)} of busy GPU time expected"
    )


def _starved(found: Mapping[str, Any]) -> str:
    overtaken = found["overtaken"]
    noun = "unit" if overtaken == 1 else "units"
    return (
        f"waited {_hours(found['waited_ms'])}, more than {_hours(found['usual_ms'])}; "
        f"{overtaken} {noun} created later {'was' if overtaken == 1 else 'were'} bound"
    )


def _size(found: Mapping[str, Any]) -> str:
    wide = found["safe_size"]
    other = "" if wide == found["size"] else f" (for its busiest five minutes: {wide})"
    return f"{found['held_size']} held, {found['size']} is enough{other}"


def _fragmented(found: Mapping[str, Any]) -> str:
    """Findings of older versions did not look at CPU."""
    free, known = found["free_ms"], found.get("cpu_known_ms", 0)
    pods, seen = found.get("pods", 0), found.get("cpu_known_pods", 0)
    text = f"of {free / 3_600_000:,.1f} free GPU-hours"
    if known == free and seen == pods:
        return text
    if not known or not seen:
        return f"{text}; CPU and models were not observed and do not count"
    return (
        f"{text}; CPU and models count where they were observed: for "
        f"{100 * known // free}% of this time and {100 * seen // pods}% of the usual pods"
    )


_EVIDENCE: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "idle_gpus": lambda e: f"{e['idle_gpus']} of {e['held_gpus']} GPUs",
    "idle_ms": lambda e: f"{_hours(e['idle_ms'])} idle",
    "elsewhere_ms": lambda e: f"{_hours(e['elsewhere_ms'])} of it in other findings",
    # of findings of older versions, which counted windows that were held in part as whole ones
    "idle_windows": lambda e: f"{e['idle_windows']} idle windows of five minutes",
    "bound": lambda e: f"{e['bound']} of {e['size']} members bound",
    "limit_ms": _limit,
    "fewest_nodes": lambda e: f"{e['nodes']} nodes instead of {e['fewest_nodes']}",
    "classes": _fragmented,
    "units": lambda e: f"up to {e['units']} units at once",
    "kept_by": lambda e: f"kept by {e['kept_by']}",
    "lower_units": lambda e: (
        f"waited for {e['waited_units']} units with priority {e['priority']}; pods of lower "
        f"priority held {e['lower_units']}"
    ),
    "overtaken": _starved,
    "busy_ms": _lost,
    "longest_ms": _spot,
    "held_size": _size,
}


def _hours(duration_ms: int) -> str:
    return _duration(duration_ms // 60_000)


def _duration(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"
