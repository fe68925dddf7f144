"""What a person confirmed after a preview."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Preview:
    """What a person confirmed of an entry or a price.

    Attributes:
        key: of this preview: what it shows is saved once, however often it is sent.
        seen: what was shown (`EntryEffect.seen`, `price_seen`).
    """

    key: str
    seen: str
