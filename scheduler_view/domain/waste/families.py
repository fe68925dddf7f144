"""Recommendations of work that is alike, together (scheduling.md "Recommendations")."""

import re
from collections import Counter
from collections.abc import Iterable

_PARTS = 2  # a pod of a generated job has two suffixes
_GENERATED = re.compile(r"-(?:\d+|[bcdfghjklmnpqrstvwxz2456789]{4,10})$")
"""A number, or the letters of which Kubernetes makes names: no vowels, and not 0, 1 and 3."""


def stem_of(name: str) -> str:
    """A name without the suffixes that were generated: `video-model-dpst` is `video-model`."""
    for _ in range(_PARTS):
        short = _GENERATED.sub("", name)
        if not short or short == name:
            break
        name = short
    return name


def families_of(names: Iterable[str]) -> dict[str, str]:
    """The family of each name of one namespace: its stem if others have it too, else the name."""
    known = set(names)
    count = Counter(stem_of(name) for name in known)
    return {name: stem_of(name) if count[stem_of(name)] > 1 else name for name in known}
