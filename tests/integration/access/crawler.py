"""A visitor who follows every link and tries every choice of a page's forms that read (GET).

Rows of a list have links of one pattern: a pattern is followed once. A pattern is a route with
one of its parameters; values that name things (a team, a day, a search) count as one.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from django.test import Client
from django.urls import Resolver404, resolve

NAMES = {
    *(
        "from",
        "to",
        "words",
        "first",
        "last",
        "before",
        "page",
        "nodes",
        "rows",
        "open",
    ),
    *("team", "cluster", "model", "namespace", "workload", "workload_kind", "q", "gpu"),
    *("object", "actor", "pool", "period", "month", "job", "tier", "profile", "price"),
    *("department", "revision", "pod", "node", "kind", "key", "row", "line", "of"),
    *("columns", "limit", "cursor", "resource", "instance", "at", "name", "what"),
    *("hour", "day", "workload_type", "hide", "next", "binding", "list", "method"),
}
"""Parameters whose values are names of things; `what` is the number that is explained."""
SHARED = ("range", "cmp", "from", "to", "words", "sort", "hide", "what", "rows")
"""Parameters that mean the same on every page: one page stands for all."""
OUTSIDE = ("/static/", "/sign-out")
FILES = ("/api/v1/",)
ALL: frozenset[str] = frozenset()
OF_LISTS = frozenset(
    {"by", "state", "view", "page", "costs", "lists", "nodes", "before"}
)
"""Parameters by which the length of a list decides what its links do."""


@dataclass
class Form:
    """A form that reads."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: list[tuple[str, str]] = field(default_factory=list)

    def addresses(self) -> Iterator[str]:
        """The form as it stands, and with each of its choices."""
        for name, value in [("", ""), *self.choices]:
            sent = self.fields | ({name: value} if name else {})
            yield f"{self.action.partition('?')[0]}?{urlencode(sent)}"


@dataclass
class Link:
    """A link as it is written."""

    href: str
    is_current: bool = False


TAGS = re.compile(
    r"<(a|form|select|option|input|button|tr|div|section)\b([^>]*)>|</(form|select)>"
)
ATTRIBUTES = re.compile(r'([\w-]+)(?:="([^"]*)")?')
IDS = re.compile(r' id="([^"]+)"')


class Html:
    """The links and forms of a page; much faster than a parser of all of it."""

    def __init__(self, text: str) -> None:
        self.links: list[Link] = []
        self.forms: list[Form] = []
        self.ids = set(IDS.findall(text))
        form: Form | None = None
        select = ""
        for tag, attributes, end in TAGS.findall(text):
            found = {
                name: unescape(value) for name, value in ATTRIBUTES.findall(attributes)
            }
            if end == "form":
                form = None
            elif end == "select":
                select = ""
            elif tag == "form":
                is_get = found.get("method", "get").lower() == "get"
                form = Form(found.get("action", "")) if is_get else None
                self.forms.extend([form] if form else [])
            elif tag == "a" or "data-href" in found or "hx-get" in found:
                self._link(tag, found)
            elif form:
                select = found.get("name", "") if tag == "select" else select
                _add_field(form, tag, select, found)

    def _link(self, tag: str, found: dict[str, str]) -> None:
        if tag == "a" and "href" in found:
            self.links.append(Link(found["href"], "aria-current" in found))
        elif "data-href" in found:
            self.links.append(Link(found["data-href"]))
        elif "hx-get" in found:
            self.links.append(Link(found["hx-get"], is_current=True))  # loads itself


def _add_field(form: Form, tag: str, select: str, found: dict[str, str]) -> None:
    name, value = found.get("name", ""), found.get("value", "")
    if tag == "option" and select:
        if "selected" in found or select not in form.fields:
            form.fields[select] = value
        form.choices.append((select, value))
    elif tag in ("input", "button") and name:
        is_choice = found.get("type") in ("checkbox", "radio", "submit")
        if is_choice:
            form.choices.append((name, value or "on"))
        if not is_choice or "checked" in found:
            form.fields[name] = value


class Crawler:
    """One person's way through the product.

    Attributes:
        is_brief: without files, and the parameters that mean the same on every page.
        only: the parameters that are tried; empty for all.
        faults: what is wrong, and a page where it is.
    """

    def __init__(
        self, client: Client, *, is_brief: bool = False, only: frozenset[str] = ALL
    ) -> None:
        self.client = client
        self.is_brief = is_brief
        self.only = only
        self.faults: dict[str, str] = {}
        self.visited: list[str] = []
        self._known: set[str] = set()
        self._seen: set[tuple[str, str, str]] = set()
        self._queue: deque[tuple[str, str]] = deque()

    def follow(self, starts: Iterable[str]) -> None:
        """Visit addresses and whatever they lead to."""
        for start in starts:
            self._add(start, "the start")
        while self._queue:
            self._visit(*self._queue.popleft())

    def _add(self, address: str, origin: str) -> None:
        if address in self._known:
            return
        self._known.add(address)
        path, query = urlsplit(address).path, urlsplit(address).query
        if path.startswith(OUTSIDE) or (self.is_brief and path.startswith(FILES)):
            return
        pairs = parse_qsl(query, keep_blank_values=True)
        if self.is_brief:
            pairs = [pair for pair in pairs if pair[0] not in SHARED]
        if self.only:
            pairs = [pair for pair in pairs if pair[0] in self.only]
        new = set(_patterns(path, pairs)) - self._seen
        if new:
            self._seen |= new
            self._queue.append((address, origin))

    def _visit(self, address: str, origin: str) -> None:
        self.visited.append(address)
        answer: Any = self.client.get(address)
        while answer.status_code in (301, 302):
            address = urljoin(address, answer.headers["Location"])
            answer = self.client.get(address)
        kind = answer.headers.get("Content-Type", "")
        if answer.status_code != 200 or address.startswith("/sign-in"):
            self._wrong(f"{address} is {answer.status_code}", origin)
        elif answer.streaming:
            list(answer.streaming_content)
        elif kind.startswith("text/html"):
            self._read(answer.content.decode(), address)

    def _read(self, text: str, address: str) -> None:
        html = Html(text)
        for link in html.links:
            self._follow(link, address, html.ids)
        for form in html.forms:
            for asked in form.addresses():
                self._add(urljoin(address, asked), address)

    def _follow(self, link: Link, address: str, ids: set[str]) -> None:
        path = address.partition("?")[0] if link.href.startswith("?") else ""
        there = urlsplit(urljoin(f"http://ledger{address}", path + link.href))
        if there.scheme not in ("http", "https") or there.netloc != "ledger":
            return
        here = urlsplit(address)
        bare = urlunsplit(("", "", there.path, there.query, ""))
        if (there.path, _set(there.query)) != (here.path, _set(here.query)):
            self._add(bare, address)
        elif there.fragment or link.href.startswith("#"):
            if there.fragment not in ids - {""}:
                self._wrong(f"{link.href!r} is no place on the page", address)
        elif not link.is_current:
            self._wrong(f"{link.href!r} leads to the page itself", address)

    def _wrong(self, fault: str, address: str) -> None:
        self.faults.setdefault(fault, f"on {address}")


def _set(query: str) -> Sequence[tuple[str, str]]:
    return sorted(parse_qsl(query))


@cache
def _route(path: str) -> str:
    try:
        return str(resolve(path).route)
    except Resolver404:
        return path


def _patterns(
    path: str, pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str, str]]:
    """What is tried by an address: its route, and each of its parameters."""
    route = _route(path)
    yield route, "", ""
    for name, value in pairs:
        is_name = name in NAMES or path.startswith("/api/")
        where = "" if name in SHARED else route
        yield where, name, "a name" if value and is_name else value.removeprefix("-")
