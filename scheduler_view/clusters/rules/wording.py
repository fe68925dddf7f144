"""Texts that plans, titles and pages share: units, counts, names, money."""

from collections.abc import Sequence
from decimal import Decimal

from accounting.core.money import Money
from accounting.core.money_text import money_text


def units(resource: str, number: int | None = None) -> str:
    """The name of units of a resource; singular for one."""
    if resource.endswith(".deviceclass.resource.k8s.io/devices"):
        return f"devices of {resource.partition('.deviceclass.')[0]}"
    name = resource.rpartition("/")[2]
    if name.startswith("mig-"):
        return f"MIG {name.removeprefix('mig-')}"
    if name == "gpu":
        maker = "AMD " if resource.rpartition("/")[0].endswith("amd.com") else ""
        return f"{maker}GPU" if number == 1 else f"{maker}GPUs"
    return f"{name} unit{'' if number == 1 else 's'}"


def counted(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], last: str = " and ") -> str:
    """`a`, `a and b`, `a, b and c`; at least one. `last` is before the last one."""
    return last.join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def sentence(text: str) -> str:
    """A text with a capital and a period."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


SHOWN = 3  # names in a text; a team may have hundreds of namespaces


def few(texts: Sequence[str], noun: str = "more", between: str = ", ") -> str:
    """The first three and the number of the others: `a, b, c and 499 more`."""
    rest = len(texts) - SHOWN
    end = f" and {rest} {noun}" if rest > 0 else ""
    return between.join(texts[:SHOWN]) + end


def whose(name: str) -> str:
    """`Vision's`, `Language models'`."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def money(amount: Decimal, currency: str) -> str:
    """`€12,345.00`, as pages write it."""
    return money_text(Money(amount, currency))
