"""A method in five sentences, as every statement prints it (money.md M22-M24, M33)."""

from accounting.kit.rows import column, listed
from accounting.months.rules.methods import METHODS, Base, Method, Spread

_PAID = {
    Base.ALLOCATION: "A team pays for the time its pods held GPUs: used, not used and unknown.",
    Base.BUSY: "A team pays for the time in which its GPUs were used, and for unknown time.",
}
_SPREAD = {
    Spread.NONE: "The cost of GPUs that nobody held is on the platform's statement.",
    Spread.HELD_TIME: "The cost of GPUs that nobody held is divided over teams by their held time.",
    Spread.QUOTA: "The cost of GPUs that nobody held is divided over teams by their quotas.",
    Spread.EVEN: "The cost of GPUs that nobody held is divided equally over teams.",
}
_ALWAYS = (
    "Time is measured in milliseconds and multiplied by the price per GPU-hour of its day.",
    "Amounts are exact until the sum of the statement is rounded once.",
    "Changes after the close are corrections in the first open month.",
)


@listed("Method")
class DescribedMethod:
    """A method that a month can have."""

    id: str = column("its id on statements and files", name="method")
    base: str = column("who pays for held time, with its version")
    version: int = column("of the base")
    spread: str = column(
        "how the cost of GPUs that nobody held is divided over teams: alloc, quota or "
        "even; empty: it is not",
        name="overhead",
    )
    sentences: tuple[str, ...] = column("as statements print them")


def described_methods() -> list[DescribedMethod]:
    """Every method that a month can have, in the order of pages."""
    return [
        DescribedMethod(
            id=one.id,
            base=str(one.base),
            version=one.version,
            spread=str(one.spread),
            sentences=method_sentences(one.id),
        )
        for one in METHODS
    ]


def method_sentences(name: str) -> tuple[str, ...]:
    """How a statement was computed.

    Raises:
        MethodError: the method does not exist.
    """
    method = Method.parse(name)
    return (_PAID[method.base], _SPREAD[method.spread], *_ALWAYS)
