"""Parts of pages: what htmx fetches has the address of a page, and a header tells them apart."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import get_resolver, reverse

from accounting.kit.cards import CARDS, LateCard

FRAGMENT = "HX-Request"
"""The header; every page has it in `Vary` (`portal/http/answers.py`)."""


def every_card() -> list[LateCard]:
    """The cards of all pages: what measures and compares pages asks for them, too."""
    _ = get_resolver().url_patterns  # views declare their cards
    return list(CARDS.values())


def card_address(card: LateCard, **names: str) -> str:
    """The address of a card, of the team with the name `slug` if it is one of a team."""
    return reverse(card.route, kwargs={name: names[name] for name in card.args})


def is_fragment(request: HttpRequest) -> bool:
    """True if a script of a page asks for a part of it."""
    return request.headers.get(FRAGMENT) == "true"


def linked_path(request: HttpRequest, card: LateCard) -> str:
    """The page that the links of a card change: the one that shows it."""
    return _page_of(request, card) if is_fragment(request) else request.path


def card_answer(
    request: HttpRequest, card: LateCard, context: Mapping[str, Any]
) -> HttpResponse:
    """A card for its page, or a page with it alone."""
    if is_fragment(request):
        return render(request, card.template, {"css": card.css, **context})
    more = {"card": card, "css": "s12", "page_of": _page_of(request, card)}
    return render(request, "kit/card_page.html", {**more, **context})


def _page_of(request: HttpRequest, card: LateCard) -> str:
    match = request.resolver_match
    return reverse(card.page, kwargs=match.kwargs if match else None)
