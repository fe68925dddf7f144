"""Pages of a list of rows, and their signed cursors, each valid for one query.

A list of independent rows is paged by the database: its cursor contains the key of the last row
(`Seek`), and changes of other rows do not make it stale. Lists of money are paged here: an amount
is split over all rows (rules.md N28), so pages of two versions would not add up. Their cursor
identifies the list; if the list has changed, the cursor is rejected (decision 29).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

from accounting.kit.reads.selection import SelectionError

LIMIT, LARGEST = 500, 5000  # rows per page
_SALT = "accounting.paging"

M = TypeVar("M", bound=Model)
Row = Mapping[str, Any]
Key = Sequence[Any]  # the order of a row in its list; integers and texts


class StaleError(SelectionError):
    """The rows have changed since a cursor was given."""


@dataclass(frozen=True, slots=True)
class CursorPage:
    """Some rows of a list, and the cursor of the next rows; None at the end."""

    rows: Sequence[Row]
    next: str | None


def page_of(
    rows: Sequence[Row], question: str, limit: int, cursor: str | None
) -> CursorPage:
    """One page of a list.

    Args:
        rows: the complete list, in its order.
        question: the query without limit and cursor; a cursor is valid for one query.
        limit: rows per page.
        cursor: `next` of the previous page; None for the first.

    Raises:
        SelectionError: a cursor that was not issued by us, or for another query.
        StaleError: the list changed after the cursor was issued.
    """
    start = 0 if cursor is None else _start(cursor, question, rows)
    end = start + limit
    if end >= len(rows):
        return CursorPage(rows[start:], None)
    return CursorPage(rows[start:end], _cursor(question, [end, _digest(rows)]))


@dataclass(frozen=True, slots=True)
class Seek:
    """The rows of a list that the database reads.

    Attributes:
        after: the key of the previous row; None for the start.
        limit: number of rows; None for all.
    """

    after: Key | None = None
    limit: int | None = None


ALL_ROWS = Seek()


def seek_of(question: str, limit: int, cursor: str | None) -> Seek:
    """The rows of one page, and one more that shows whether another page follows.

    Raises:
        SelectionError: a cursor that was not issued by us, or for another query.
    """
    after = None if cursor is None else _opened(cursor, question)
    return Seek(after, limit + 1)


def keyset_cursor(question: str, key: Key) -> str:
    """The cursor of the rows after the row with a key."""
    return _cursor(question, list(key))


def seek_rows(rows: QuerySet[M], order: Sequence[str], seek: Seek) -> QuerySet[M]:
    """The rows of a table for a page.

    Args:
        rows: all rows.
        order: columns as for `order_by`, unique together; descending ones with `-`.
        seek: with a value for each of them.
    """
    if seek.after is not None:
        rows = rows.filter(_later(order, seek.after))
    return rows.order_by(*order)[: seek.limit]


def _later(order: Sequence[str], key: Key) -> Q:
    found, is_same = Q(), Q()
    for one, value in zip(order, key, strict=True):
        name = one.removeprefix("-")
        after = "lt" if one.startswith("-") else "gt"
        found |= is_same & Q(**{f"{name}__{after}": value})
        is_same &= Q(**{name: value})
    return found


def limit_of(text: str | None) -> int:
    """The number of rows per page.

    Raises:
        SelectionError: not a number from 1 to LARGEST.
    """
    if text is None:
        return LIMIT
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST))
    if not is_number or not 1 <= int(text) <= LARGEST:
        raise SelectionError(
            f"limit must be a number from 1 to {LARGEST}", parameter="limit"
        )
    return int(text)


def _start(cursor: str, question: str, rows: Sequence[Row]) -> int:
    start, state = _opened(cursor, question)
    if state != _digest(rows):
        raise StaleError(
            "the rows have changed since this cursor was issued; start again without it, with a "
            "`to` in the past",
            parameter="cursor",
        )
    return int(start)


def _cursor(question: str, found: Sequence[Any]) -> str:
    return signing.dumps([_digest(question), *found], salt=_SALT, compress=True)


def _opened(cursor: str, question: str) -> Sequence[Any]:
    """The content of a cursor for a query; the signature shows that it was issued by us."""
    try:
        asked, *found = list[Any](signing.loads(cursor, salt=_SALT))
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise _foreign() from error
    if asked != _digest(question):
        raise _of_another_question()
    return found


def _foreign() -> SelectionError:
    return SelectionError(
        "not a valid cursor; use `next` of the previous response",
        parameter="cursor",
    )


def _of_another_question() -> SelectionError:
    return SelectionError(
        "this cursor belongs to other parameters; use the parameters of the first page",
        parameter="cursor",
    )


def _digest(value: object) -> str:
    text = json.dumps(value, default=str, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
