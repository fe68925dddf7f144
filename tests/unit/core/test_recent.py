"""A cache that keeps what the last rounds used.

Aspects: its bound, what it keeps, that a round keeps its own keys, and other threads. Not here:
what is cached (`test_samples.py`, `tests/integration/metering/sources/test_buffer_caches.py`).
"""

from collections.abc import Callable

import pytest

from accounting.core.recent import Recent


def used(cache: Recent[int, str], keys: range) -> int:
    """A round; how many keys were not known."""
    cache.begin(len(keys))
    new = 0
    for key in keys:
        if cache.get(key, None) is None:
            cache[key] = str(key)
            new += 1
    return new


def test_new_keys_without_end_take_no_more_than_two_rounds() -> None:
    cache: Recent[int, str] = Recent(10)
    for first in range(0, 5_000, 50):
        assert used(cache, range(first, first + 100)) <= 100
        assert len(cache) <= 200


def test_keys_that_are_used_in_each_round_stay_beside_new_ones() -> None:
    cache: Recent[int, str] = Recent(10)
    used(cache, range(100))
    for first in range(1_000, 5_000, 20):
        cache.begin(100)
        assert all(cache.get(key, None) == str(key) for key in range(80))
        assert used(cache, range(first, first + 20)) == 20


def test_a_round_larger_than_before_keeps_all_of_its_keys() -> None:
    cache: Recent[int, str] = Recent(10)
    for size in (5, 10, 11, 200, 1_000):
        used(cache, range(size))
        assert used(cache, range(size)) == 0


def test_small_rounds_share_the_least_size() -> None:
    cache: Recent[int, str] = Recent(10)
    for _ in range(3):
        for source in (0, 100):
            used(cache, range(source, source + 5))
    assert used(cache, range(5)) == 0
    for first in range(0, 1_000, 5):
        used(cache, range(first, first + 5))
        assert len(cache) <= 20


def test_a_stored_none_is_a_value() -> None:
    cache: Recent[int, None] = Recent(10)
    cache[1] = None
    assert cache.get(1, "missing") is None
    assert cache.get(2, "missing") == "missing"


class Interrupted(str):
    """A key during whose first search something else happens, as in another thread."""

    __slots__ = ("meanwhile",)
    meanwhile: Callable[[], None] | None

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        then, self.meanwhile = getattr(self, "meanwhile", None), None
        if then is not None:
            then()
        return str.__hash__(self)


@pytest.mark.parametrize("is_old", [False, True])
def test_a_key_that_another_thread_moves_is_known_or_not(is_old: bool) -> None:
    cache: Recent[str, int] = Recent(2)
    cache["one"] = 1
    for other in ("a", "b") if is_old else ():
        cache[other] = 0

    def meanwhile() -> None:
        assert cache.get("one", None) == 1
        for number in range(4):
            cache[f"new-{number}"] = number

    key = Interrupted("one")
    key.meanwhile = meanwhile
    assert cache.get(key, None) in (1, None)
