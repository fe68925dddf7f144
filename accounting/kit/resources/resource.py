"""A list with its verbs, declared once: REST, commands and pages derive from it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounting.access.rights import Right
from accounting.access.scope import Scope
from accounting.kit.outcomes import Done
from accounting.kit.reads.paging import Key

Filters = Mapping[str, Sequence[str]]
NO_FILTERS: Filters = {}


@dataclass(frozen=True, slots=True)
class Verb:
    """What people may do.

    Attributes:
        name: ends its addresses; "" for what a POST to the list does.
        does: the action. It gets the number of the item, unless it is of the list; what was given,
            if it takes something; and the person. What it did, or None: what it is named for.
        takes: its input (`kit/inputs.py`); None for a verb without one.
        right: who may; whether about this item, the action checks.
        about: what it does, for the OpenAPI document.
        done: what a page says after it; `{row}` is the item before it.
        title: of the page with its form, and of the button to it; "" if that is by hand.
    """

    name: str
    does: Callable[..., Done | None]
    takes: type | None
    right: Right
    about: str
    done: str = ""
    title: str = ""

    def do(self, number: int | None, given: Any, person: Any) -> Done:
        """Do it, for a page or REST.

        Raises:
            Refused: nothing was changed.
        """
        item = () if number is None else (number,)
        done = self.does(*item, *(() if self.takes is None else (given,)), person)
        return done or Done(number or 0)


@dataclass(frozen=True, slots=True)
class Resource:
    """A list of rows that people read by one right.

    Attributes:
        name: its address over REST, its name in `report` and in scopes of tokens.
        row: the declared row (`kit/rows.py`), or a serializer that is written by hand.
        right: who may read it; for others it is not there.
        read: the rows that a scope may read: by filters if it has some, by `seek` with a `key`.
        about: what the list is, for the OpenAPI document.
        about_item: what an item is, for the same; "" if items have no address.
        item: one of them by its number, or None; without it, the row with this `id`.
        filters: names of the filters that it has.
        key: the position of a row, if pages are cut by the database.
        verbs: what people may do over REST; pages have these, and others.
    """

    name: str
    row: type
    right: Right
    read: Callable[..., Iterable[Any]]
    about: str
    about_item: str = ""
    item: Callable[[Scope, int], Any] | None = None
    filters: tuple[str, ...] = ()
    key: Callable[[Any], Key] | None = None
    verbs: tuple[Verb, ...] = ()

    def found(self, scope: Scope, number: int) -> Any:
        """One row by its number, or None."""
        if self.item:
            return self.item(scope, number)
        return next((row for row in self.rows(scope) if row.id == number), None)

    def rows(
        self, scope: Scope, filters: Filters = NO_FILTERS, **seek: Any
    ) -> Iterable[Any]:
        """The rows that a scope may read."""
        return self.read(scope, *((filters,) if self.filters else ()), **seek)
