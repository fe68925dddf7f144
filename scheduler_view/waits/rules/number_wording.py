"""What is requested and what is free, and what remains after a change, as texts (S13)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scheduler_view.clusters.rules.quota_key import LIMITS, REQUESTS, resource_of
from scheduler_view.clusters.rules.wording import counted, listed, units
from scheduler_view.waits.rules.change_wording import Change, change_text
from scheduler_view.waits.rules.wording import cause_text

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_BOUNDS = {"min": "minimum", "max": "maximum", "ratio": "limit to request ratio"}
_QUOTAS = ("quota", "scope_quota", "quota_other")
_MOST_AMOUNTS = 4  # free amounts that a sentence has


def numbers_text(cause: str, facts: Mapping[str, Any]) -> str:
    """The numbers of a cause as a sentence without a period; empty without any.

    Args:
        facts: of an explanation.
    """
    quota = facts.get("quota") or {}
    if "requested" in quota and cause in _QUOTAS:
        return _quota(quota["key"], quota)
    numbers = facts.get("numbers")
    write = _NUMBERS.get(cause)
    return write(numbers) if numbers and write is not None else ""


def partial_text(partial: Change) -> str:
    """A change that is not enough alone, with what remains, as a sentence without a period."""
    remains = listed([_remains(one) for one in partial["remains"]])
    return f"{change_text(partial)}; then {remains}"


def _remains(one: Mapping[str, Any]) -> str:
    cause = one["cause"]
    if "unset" in one:
        named = [
            key.removeprefix(REQUESTS).replace(LIMITS, "a limit of ")
            for key in one["unset"]
        ]
        return f"the quota {one['quota']} requires {listed(named)} for each container"
    if "quota" in one:
        return f"the quota {one['quota']} is short: {_quota(one['key'], one)}"
    if "range" in one:
        name = f"the LimitRange {one['range']}" if one["range"] else "its LimitRange"
        bound = f"{_BOUNDS[one['limit']]} of {one['resource']}, {one['bound']}"
        return f"{name} rejects it by its {bound}"
    if "placed" in one:
        return f"{one['placed']} of {counted(one['pods'], 'pod')} have a node"
    write = _NUMBERS.get(cause)
    text = cause_text(cause)
    if not text.startswith("CPU"):
        text = text[:1].lower() + text[1:]
    return f"{text} ({write(one)})" if write is not None and "nodes" in one else text


def _quota(key: str, of: Mapping[str, Any]) -> str:
    resource = resource_of(key)
    is_one = str(of["requested"]) == "1"  # a quantity
    name = units(resource, 1 if is_one else None) if resource else key
    return f"{of['requested']} {name} requested; {of['used']} of {of['hard']} are used"


def _gpus(numbers: Mapping[str, Any]) -> str:
    if "requested" not in numbers:
        return ""
    requested, free = numbers["requested"], numbers["free"]
    asked = f"{requested} {units(numbers['resource'], requested)} requested"
    nodes = numbers["nodes"]
    if not free:
        return f"{asked}; none is free on {_of_nodes(nodes)}"
    amounts = listed([str(one) for one in free[:_MOST_AMOUNTS]])
    verb = "is" if free == [1] else "are"
    more = " at most" if len(free) > _MOST_AMOUNTS else ""
    return f"{asked};{more} {amounts} {verb} free on {_of_nodes(min(len(free), _MOST_AMOUNTS))}"


def _of_nodes(count: int) -> str:
    word = _WORDS[count] if count < len(_WORDS) else f"{count:,}"
    return f"{word} node{'' if count == 1 else 's'}"


def _too_big(numbers: Mapping[str, Any]) -> str:
    if "largest" not in numbers:
        return ""
    requested = numbers["requested"]
    asked = f"{requested} {units(numbers['resource'], requested)} requested"
    return f"{asked}; the largest node has {numbers['largest']}"


def _others(numbers: Mapping[str, Any]) -> str:
    parts: Sequence[str] = [
        f"{one['requested']} of {name} requested, at most {one['free']} free on a node"
        for name, one in sorted(numbers.get("short", {}).items())
    ]
    return "; ".join(parts)


_NUMBERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "no_free_gpu": _gpus,
    "fragmented": _gpus,
    "too_big": _too_big,
    "cpu_memory": _others,
}
