"""Cards that load by themselves, declared: parts of pages with an address of their own.

A page that is long to compute has placeholders (`{% late_card %}`) for cards below the first
screen. `static/js/cards.js` asks for all of them when the page is ready. Without scripts a
placeholder is a link to the same address, which then answers a page with that card alone
(`accounting/kit/pages/fragments.py`).
"""

from dataclasses import dataclass

CARDS: dict[str, "LateCard"] = {}
"""By route; `every_card` of `accounting/kit/pages/fragments.py` has all."""


@dataclass(frozen=True, slots=True)
class LateCard:
    """One card.

    Attributes:
        route: the name of its address, which has the arguments of its page.
        title: its heading.
        id: the heading of the card has the id `<id>-title`.
        template: a `<section>` with the class `{{ css }}`.
        page: the name of the route of the page that it is part of.
        label: the name of that page.
        css: its width there.
        rows: so high is the placeholder, in rows of one line.
        args: the names of what its address and that of its page have in them.
    """

    route: str
    title: str
    id: str
    template: str
    page: str
    label: str
    css: str
    rows: int
    args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        CARDS[self.route] = self
