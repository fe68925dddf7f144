"""Answers of `read_once` functions are shared inside `reading`, and only there.

Those of `read_together` are read of all ids of the page at once.
"""

from collections.abc import Mapping, Sequence

import pytest

from accounting.core.read_once import read_once, read_together, reading, together

asked: list[tuple[object, ...]] = []


@read_once
def answer(*values: object, places: int = 0) -> int:
    """The number of times it was asked; refuses nothing at all."""
    if not values:
        raise ValueError("nothing")
    asked.append((*values, places))
    return len(asked)


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    asked.clear()


def test_same_question_is_asked_once_while_reading() -> None:
    with reading():
        assert [answer("a"), answer("a"), answer("b"), answer("a", places=2)] == [
            1,
            1,
            2,
            3,
        ]
        assert [answer(["x", "y"]), answer(["x", "y"]), answer(["y"])] == [4, 4, 5]


def test_it_is_asked_each_time_elsewhere() -> None:
    assert [answer("a"), answer("a")] == [1, 2]
    with reading():
        assert answer("a") == 3
    assert answer("a") == 4
    with reading():
        assert answer("a") == 5


def test_inner_context_begins_anew_and_leaves_the_outer_one() -> None:
    with reading():
        assert answer("a") == 1
        with reading():
            assert answer("a") == 2
        assert answer("a") == 1


def test_refusal_is_no_answer() -> None:
    with reading():
        for _ in range(2):
            with pytest.raises(ValueError, match="nothing"):
                answer()


@read_together
def square(ids: Sequence[int]) -> Mapping[int, int]:
    """Of each number; what was asked is kept."""
    asked.append(tuple(ids))
    return {one: one * one for one in ids}


def test_what_a_page_shows_is_read_together() -> None:
    with reading():
        together([2, 3, 4])
        together([9])
        assert [square(3), square(2), square(4), square(3)] == [9, 4, 16, 9]
        assert asked == [(2, 3, 4)]
        assert [square(9), square(9)] == [81, 81]
        assert asked[1:] == [(9,)]


def test_one_is_read_alone_where_nothing_is_shown_or_shared() -> None:
    with reading():
        assert [square(3), square(3)] == [9, 9]
    together([2, 3])
    assert [square(3), square(3)] == [9, 9]
    assert asked == [(3,), (3,), (3,)]
