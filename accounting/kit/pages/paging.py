"""One page of a long list, according to the address."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a long list."""

    lines: tuple[Any, ...]
    number: int
    pages: int
    count: int
    size: int

    def drawn(self, draw: Callable[[Any], Any]) -> "ListPage":
        """The same page with each of its lines as `draw` makes it; other pages are not drawn."""
        return replace(self, lines=tuple(draw(line) for line in self.lines))

    @property
    def first(self) -> int:
        """Position of the first line, from 1."""
        return (self.number - 1) * self.size + 1 if self.count else 0

    @property
    def last(self) -> int:
        """Position of the last line."""
        return min(self.number * self.size, self.count)


SIZES = (25, 50, 100, 250)


def size_of(query: Mapping[str, Any]) -> int:
    """The number of lines in the address: 50, or one of SIZES."""
    size = _number(query.get("rows", ""), 50)
    return size if size in SIZES else 50


def paged(lines: Sequence[Any], query: Mapping[str, Any]) -> ListPage:
    """The page in the address."""
    return page_of(lines, query.get("page", ""), size_of(query))


def page_of(lines: Sequence[Any], asked: str, size: int) -> ListPage:
    """A page of lines by its number; a page that does not exist becomes the nearest one."""
    pages = max(1, -(-len(lines) // size))
    number = min(max(_number(asked, 1), 1), pages)
    start = (number - 1) * size
    return ListPage(tuple(lines[start : start + size]), number, pages, len(lines), size)


def _number(text: str, default: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else default
