"""Edits from the fields of a form: only what a person changed."""

from collections.abc import Iterator
from typing import Any

from django.http import QueryDict

PARTS = 5  # team, resource, tier, version, gpus as shown


def changed_quotas(posted: QueryDict) -> list[dict[str, Any]]:
    """Quota edits, as in the API; an unchanged number is not an edit.

    The name of an input has the quota and its previous value, so that an edit from an old page is
    recognized.
    """
    found = list(_new(posted))
    for name, value in posted.items():
        kind, _, rest = name.partition("|")
        parts = rest.split("|")
        if kind not in ("q", "r") or len(parts) != PARTS:
            continue
        if kind == "r":
            found.append(_edit(parts, None))
        elif str(value).strip() != parts[-1] and f"r|{rest}" not in posted:
            found.append(_edit(parts, str(value)))
    return found


def _edit(parts: list[str], typed: str | None) -> dict[str, Any]:
    team, resource, tier, version, _ = parts
    return {
        "kind": "quota",
        "team": team,
        "resource": resource,
        "tier": tier,
        "gpus": None if typed is None else number(typed),
        "version": int(version) if version.isdecimal() and len(version) < 19 else None,
    }


def _new(posted: QueryDict) -> Iterator[dict[str, Any]]:
    rows = zip(
        *(
            posted.getlist(f"new-{name}")
            for name in ("team", "resource", "tier", "gpus")
        ),
        strict=False,
    )
    for team, resource, tier, gpus in rows:
        if team or gpus.strip():
            yield {
                "kind": "quota",
                "team": team,
                "resource": resource,
                "tier": tier,
                "gpus": number(gpus),
            }


def number(text: str) -> int | str:
    """An integer if the text is one; else the text, so that the fault can name it."""
    bare = text.strip().replace(",", "")
    return int(bare) if bare.isascii() and bare.isdecimal() and len(bare) < 19 else text
