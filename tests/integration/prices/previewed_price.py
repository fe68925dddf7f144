"""Saves a price as a person does: its preview, and then what the button of that sends."""

import re
from collections.abc import Mapping
from typing import Any

from django.test import Client

from tests.page_html import html_of


def previewed(client: Client, values: Mapping[str, str]) -> dict[str, str]:
    """The form with what the button "Save this price" of its preview adds."""
    shown = html_of(client.post("/prices/new", values))
    hidden = re.findall(r'name="(seen|preview)"\s+value="([^"]+)"', shown)
    assert len(hidden) == 2
    return {**values, **dict(hidden), "confirm": "yes"}


def save_price(client: Client, values: Mapping[str, str], **more: Any) -> Any:
    """The answer to a price that was previewed and confirmed."""
    return client.post("/prices/new", previewed(client, values), **more)
