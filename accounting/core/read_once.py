"""Reads that the parts of one page share: each is done once for the page."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

_answers: ContextVar[dict[Any, Any] | None] = ContextVar("answers", default=None)


@contextmanager
def reading() -> Iterator[None]:
    """Remember the answers of `read_once` functions for a context that writes nothing."""
    token = _answers.set({})
    try:
        yield
    finally:
        _answers.reset(token)


def read_once(
    function: Callable[Arguments, Answer],
) -> Callable[Arguments, Answer]:
    """Answer the same question once inside `reading`; outside it is asked each time.

    Its arguments can be hashed, or are lists; nobody changes what it returns.
    """

    @wraps(function)
    def remembered(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        answers = _answers.get()
        if answers is None:
            return function(*args, **kwargs)
        key = (
            function,
            *map(_key, args),
            *sorted((n, _key(v)) for n, v in kwargs.items()),
        )
        if key not in answers:
            answers[key] = function(*args, **kwargs)
        answer: Answer = answers[key]
        return answer

    return remembered


_SHOWN = "shown"


def together(ids: Iterable[int]) -> None:
    """Name what the page shows, such as its clusters: `read_together` reads of all of them.

    The first call of a page counts.
    """
    answers = _answers.get()
    if answers is not None:
        answers.setdefault(_SHOWN, tuple(ids))


def read_together(
    function: Callable[[Sequence[int]], Mapping[int, Answer]],
) -> Callable[[int], Answer]:
    """Answer a question about one id; inside `reading` it is asked about all ids of the page.

    Args:
        function: it has an answer for each of the ids. Nobody changes what it returns.
    """

    @wraps(function)
    def remembered(one: int) -> Answer:
        answers = _answers.get()
        if answers is None:
            return function((one,))[one]
        if (function, one) not in answers:
            shown: Sequence[int] = answers.get(_SHOWN, ())
            found = function(shown if one in shown else (one,))
            answers.update({(function, each): found[each] for each in found})
        answer: Answer = answers[function, one]
        return answer

    return remembered


def _key(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
