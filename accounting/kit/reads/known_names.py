"""Names that a filter may have, where all of them are known."""

from collections.abc import Callable, Iterable

KNOWN_NAMES: dict[str, Callable[[], Iterable[str]]] = {}
"""What reads the names, by the filter: filled when the app starts (`accounting/apps.py`)."""
