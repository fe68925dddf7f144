"""Page addresses as people, old links, scanners and broken programs write them."""

import random
from collections.abc import Sequence
from urllib.parse import quote, quote_from_bytes

from tests.integration.access.routes import PAGES

DATES = (
    *("2026-11-03", "2026-11-20", "2026-10-09", "2026-10-25", "2026-11-21"),
    *("0001-01-01", "0001-01-02", "0999-12-31", "1582-10-15", "1969-12-31"),
    *("1970-01-01", "1970-01-02", "2100-02-29", "9998-12-31", "9999-01-01"),
    *("9999-12-30", "9999-12-31", "10000-01-01", "99999-01-01", "2026-13-45"),
    *("2026-02-30", "2026-11", "2026", "20261103", "2026-W46", "2026-W46-1"),
    *("2026-11-03T10:00:00Z", "0001-01-01T00:00:00+14:00", "+2026-11-03"),
    *("9999-12-31T23:59:59-14:00", "today", "-1", "0", "", "٢٠٢٦-١١-٠٣"),
)
WORDS = (
    *("last 3 weeks", "last 0 days", "last 999 months", "last 999 weeks"),
    *("yesterday", "2026-10-01..2026-10-31", "9999-12-31..9999-12-31"),
    *("0001-01-01..0001-01-01", "..", "2026-10-31..2026-10-01", "last week"),
)
NUMBERS = (
    *("0", "1", "2", "-1", "7", "250", "1e9", "99999", "2147483648", "9" * 20),
    *("9" * 400, "1.5", "0x1f", "١", "²", "NaN", "inf", "--1"),
)
STRANGE = (
    *("\0", "a\0b", "\0\0", "", " ", "\t\r\n", "\x01\x1f\x7f", "\u202e", "\ufeff"),
    *("é", "漢字", "\U0001f600", "%", "%00", "%zz", "&", "=", "?", "#", "/", "//"),
    *("..", "../../etc/passwd", "'", '"', "' OR 1=1 --", "<script>", "{{ 7*7 }}"),
    *("|", "|||||", "-", "--busy", "None", "null", "[]", "{}", "*", "a" * 300),
    *("x" * 5000, "__class__", "\\", "\\0", "vision,search", "javascript:alert(1)"),
)
KNOWN: dict[str, Sequence[str]] = {
    "range": ("today", "yesterday", "last-7-days", "last-12-months", "never"),
    "from": DATES,
    "to": DATES,
    "first": DATES,
    "last": DATES,
    "since": DATES,
    "until": DATES,
    "words": WORDS,
    "cmp": ("prev", "weekdays", "month", "year", "off", "all"),
    "cluster": ("north", "south"),
    "team": ("vision", "search", "unmapped", "nobody", "-"),
    "model": ("NVIDIA-L40S", "NVIDIA-A10", "-", "none"),
    "lifecycle": ("spot", "on-demand", "unknown", "sopt"),
    "tier": ("gold", "batch", "-"),
    "namespace": ("vision-prod", "scratch", "-"),
    "sort": ("-busy", "charge", "earned", "-capacity", "nothing", "-"),
    "page": NUMBERS,
    "rows": NUMBERS,
    "nodes": NUMBERS,
    "csv": ("teams", "changes", "audit", "sources", "gaps", "runs", "x"),
    "q": ("re", "sweep", "gpu-01"),
    "over": ("hour", "day", "range", "year"),
    "view": ("timeline", "grid"),
    "what": ("charge", "ledger", "idle", "busy", "quotatarget", "unitprice", "none"),
    "actor": ("ana", "nobody"),
    "object": NUMBERS,
    "before": NUMBERS,
    "workload": ("sweep-resnet", "serving"),
    "node": ("gpu-01",),
    "gpu": ("GPU-5a1e0001-0000-7c3d", "GPU-none"),
    "pod": ("tts-serving-0",),
    "split": ("team", "model", "none"),
    "show": ("hard", "x"),
    "only": ("pointless", "x"),
    "open": ("serving", "x"),
    "hide": ("model", "x,y"),
    "group": ("department", "x"),
    "state": ("draft", "applied", "x"),
    "diff": ("side", "x"),
    "seen": ("1", "x"),
    "set": ("three", "x"),
    "remove": ("yes",),
    "price": NUMBERS,
    "next": ("/teams", "//evil.example", "https://evil.example"),
}
FOREIGN = ("utm_source", "fbclid", "debug", "__proto__", "format", "limit", "\0", "a[]")
SLUGS = ("vision", "search", "nobody", "Vision", "-", "a" * 300, "0")
VERBS = ("plan", "apply", "undo", "discard", "leave-out", "none")
PLACES = {
    "<slug:slug>": SLUGS,
    "<slug:verb>": VERBS,
    "<path:uuid>": ("GPU-5a1e0001-0000-7c3d", "GPU-none", "a/b/c", *STRANGE),
    "<int:number>": (*NUMBERS, "1", "2"),
    "<int:binding_id>": (*NUMBERS, "1", "2"),
}


def draw_address(chance: random.Random) -> str:
    """One address: a page of ours, with some of what pages understand and what they do not."""
    path = chance.choice(tuple(PAGES))
    for place, values in PLACES.items():
        if place in path:
            value = chance.choice(values)
            path = path.replace(place, quote(value, safe="/"))
    pairs = [_pair(chance) for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4, 6)))]
    return f"/{path}?{'&'.join(pairs)}" if pairs else f"/{path}"


def _pair(chance: random.Random) -> str:
    name = chance.choice(tuple(KNOWN))
    values = KNOWN[name]
    if chance.random() < 0.1:
        name = chance.choice(FOREIGN)
    luck = chance.random()
    if luck < 0.6:
        text = quote(chance.choice(values))
    elif luck < 0.9:
        text = quote(chance.choice((*STRANGE, *DATES, *NUMBERS)))
    else:
        text = quote_from_bytes(chance.randbytes(chance.randrange(1, 12)))
    return f"{quote(name)}={text}" if chance.random() < 0.95 else quote(name)
