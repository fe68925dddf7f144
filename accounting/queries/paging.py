"""Pages of a list of rows: a signed cursor that fits one question and one state of the data.

Money is split over a whole list (rules.md N28), so pages of two states would neither sum nor
line up. A cursor therefore carries what the list was; when the list has changed, it is refused.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core import signing

from accounting.queries.selection import SelectionError

LIMIT, LARGEST = 500, 5000  # rows a page
_SALT, _KEYSET_SALT = "accounting.paging", "accounting.paging.keyset"

Row = Mapping[str, Any]


class StaleError(SelectionError):
    """The rows have changed since a cursor was given."""


@dataclass(frozen=True, slots=True)
class CursorPage:
    """Some rows of a list, and the cursor of those after them; None at the end."""

    rows: Sequence[Row]
    next: str | None


def page_of(
    rows: Sequence[Row], question: str, limit: int, cursor: str | None
) -> CursorPage:
    """One page of a list.

    Args:
        rows: the whole list, in its order.
        question: what was asked, without limit and cursor; a cursor fits one question.
        limit: rows a page.
        cursor: `next` of the page before; None for the first.

    Raises:
        SelectionError: a cursor that we did not give, or gave for another question.
        StaleError: the list is not what it was when the cursor was given.
    """
    start = 0 if cursor is None else _start(cursor, question, rows)
    end = start + limit
    if end >= len(rows):
        return CursorPage(rows[start:], None)
    found = [end, _digest(question), _digest(rows)]
    return CursorPage(rows[start:end], signing.dumps(found, salt=_SALT, compress=True))


def keyset_cursor(question: str, key: int) -> str:
    """The cursor of the rows after one, in a list whose rows never change."""
    return signing.dumps([key, _digest(question)], salt=_KEYSET_SALT)


def key_of(cursor: str, question: str) -> int:
    """The key that a keyset cursor holds.

    Raises:
        SelectionError: a cursor that we did not give, or gave for another question.
    """
    try:
        key, asked = signing.loads(cursor, salt=_KEYSET_SALT)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise _foreign() from error
    if asked != _digest(question):
        raise _of_another_question()
    return int(key)


def limit_of(text: str | None) -> int:
    """How many rows a page has.

    Raises:
        SelectionError: not a number from 1 to LARGEST.
    """
    if text is None:
        return LIMIT
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST))
    if not is_number or not 1 <= int(text) <= LARGEST:
        raise SelectionError(
            f"limit is a number from 1 to {LARGEST}", parameter="limit"
        )
    return int(text)


def _start(cursor: str, question: str, rows: Sequence[Row]) -> int:
    try:
        start, asked, state = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise _foreign() from error
    if asked != _digest(question):
        raise _of_another_question()
    if state != _digest(rows):
        raise StaleError(
            "the rows have changed since this cursor was given; begin again without it, "
            "with a `to` that lies in the past",
            parameter="cursor",
        )
    return int(start)


def _foreign() -> SelectionError:
    return SelectionError(
        "this cursor is not one of ours; use `next` of the answer before",
        parameter="cursor",
    )


def _of_another_question() -> SelectionError:
    return SelectionError(
        "this cursor belongs to other parameters; ask with those of the first page",
        parameter="cursor",
    )


def _digest(value: object) -> str:
    text = json.dumps(value, default=str, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
