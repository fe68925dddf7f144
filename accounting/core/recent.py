"""A cache of what a process used of late, however long it runs."""

from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
Other = TypeVar("Other")


class Recent(Generic[Key, Value]):
    """Values by key; those that were not used in the last rounds are forgotten.

    Pods end and others begin: a worker sees new series without end, and each of them for some
    hours. A fixed size would be too large for a small cluster, and useless for one whose series do
    not fit. This cache has at most twice `least` keys, or twice those of its largest round.

    Threads may share it: a key that another one moves at the same time counts as not known.
    """

    def __init__(self, least: int) -> None:
        self._limit = least  # of each half
        self._new: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def begin(self, keys: int) -> None:
        """A round begins, such as the series of a file: it uses so many keys, and keeps them."""
        self._limit = max(self._limit, keys)

    def get(self, key: Key, default: Other) -> Value | Other:
        """The value of a key, which is used hereby; `default` if it is not known."""
        try:
            return self._new[key]
        except KeyError:
            pass
        try:
            value = self._old.pop(key)
        except KeyError:
            return default
        self[key] = value
        return value

    def __setitem__(self, key: Key, value: Value) -> None:
        if len(self._new) >= self._limit:
            self._old, self._new = self._new, {}
        self._new[key] = value

    def __len__(self) -> int:
        return len(self._new) + len(self._old)
