"""What a text of metrics may make a process hold or do, however small it is when compressed."""

from dataclasses import dataclass, field

MOST_SERIES = 1_000_000  # wanted ones, of one text
MOST_SERIES_BYTES = 128 << 20  # characters of their names and labels: 0.5 GB of memory
MOST_NAMES = 100_000  # of metrics, wanted or not
MOST_BARE = 1_000_000  # lines without a sample, where they are more than nine of ten

Fault = tuple[str, str]  # what is wrong, and what to do


@dataclass(slots=True)
class TextLimits:
    """Counts what grows with a text; each method returns a fault, or None.

    Attributes:
        most_series, most_bytes: wanted series, and characters of their names and labels.
        names: of all metrics.
    """

    most_series: int = MOST_SERIES
    most_bytes: int = MOST_SERIES_BYTES
    names: set[str] = field(default_factory=set)
    _bytes: int = 0
    _bare: int = 0

    def name(self, name: str) -> Fault | None:
        """A series with this name."""
        if name not in self.names:
            self.names.add(name)
            self._bytes += len(name)
        if len(self.names) <= MOST_NAMES:
            return None
        return f"more than {MOST_NAMES:,} names of metrics", "is this metrics text?"

    def series(self, number: int, spelled: str) -> Fault | None:
        """A wanted series: how many there are with it, and its name and labels."""
        self._bytes += len(spelled)
        if number <= self.most_series and self._bytes <= self.most_bytes:
            return None
        size = self.most_bytes >> 20
        what = (
            f"more than {self.most_series:,} series, or {size} MiB of names and labels"
        )
        return what, "split the text by time, or leave out labels that are not needed"

    def bare(self, lines: int) -> Fault | None:
        """A comment or blank line among so many lines.

        Some are usual; a text of them is not metrics text.
        """
        self._bare += 1
        if self._bare <= MOST_BARE or self._bare * 10 <= lines * 9:
            return None
        return (
            f"more than {MOST_BARE:,} lines, and most of them without a sample",
            "is this metrics text?",
        )
