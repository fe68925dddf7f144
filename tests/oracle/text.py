"""Samples as exposition text."""

from collections.abc import Iterable

from tests.oracle.samples import Sample


def text(samples: Iterable[Sample], *, is_openmetrics: bool = True) -> str:
    """Exposition text with times; families stay together."""
    families: dict[str, list[str]] = {}
    for s in samples:
        body = ",".join(f'{key}="{value}"' for key, value in s.labels.items())
        at = f"{s.at / 1000:.3f}" if is_openmetrics else str(s.at)
        families.setdefault(s.name, []).append(
            f"{s.name}{{{body}}} {_number(s.value)} {at}"
        )
    lines = []
    for name, found in families.items():
        lines += [f"# TYPE {name} gauge", *found]
    return "\n".join([*lines, "# EOF", ""] if is_openmetrics else [*lines, ""])


def _number(value: float) -> str:
    if value != value:  # noqa: PLR0124  # NaN
        return "NaN"
    return {float("inf"): "+Inf", float("-inf"): "-Inf"}.get(value, repr(value))
