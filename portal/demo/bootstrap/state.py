"""What the demo remembers between starts: its story, and which history is still missing.

One small JSON file in the home, replaced as a whole, so that a killed demo goes on where
it was.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from portal.demo.metrics.history import FileInterval, stretches
from portal.demo.scenario.story import Story
from portal.embedded.paths import places_of


class MemoryFault(Exception):
    """The file cannot be used; the message says what to do."""


@dataclass(slots=True)
class Memory:
    """The story and the stretches to import, newest first.

    Attributes:
        until_s: up to here every stretch is imported or in `missing`.
        total: how many stretches there were so far, for the progress line.
    """

    path: Path
    story: Story
    until_s: int
    missing: list[FileInterval] = field(default_factory=list)
    total: int = 0

    @classmethod
    def load(cls, home: Path) -> "Memory | None":
        """The memory of a home; None before its first start.

        Raises:
            MemoryFault: the file is damaged.
        """
        path = places_of(home).demo
        try:
            found = json.loads(path.read_text())
            return cls(
                path,
                Story(**found["story"]),
                found["until_s"],
                [FileInterval(*times) for times in found["missing"]],
                found["total"],
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise MemoryFault(
                f"{path} is damaged ({error}): remove {home} to start the demo again"
            ) from error

    @classmethod
    def first(cls, home: Path, story: Story) -> "Memory":
        """The memory of a demo that has imported nothing yet."""
        return cls(places_of(home).demo, story, story.start_s)

    def reach(self, now_s: int) -> None:
        """Note that everything up to now is wanted; the newest is imported first."""
        if now_s <= self.until_s:
            return  # the clock stepped back
        new = stretches(self.until_s, now_s)
        self.missing = [*new, *self.missing]
        self.total += len(new)
        self.until_s = now_s
        self.save()

    @property
    def is_new(self) -> bool:
        """True before anything was imported."""
        return len(self.missing) == self.total

    def seen_live(self, at_s: int) -> None:
        """Note that live scrapes have covered the time up to a moment."""
        self.until_s = max(self.until_s, at_s)

    def done(self, stretch: FileInterval) -> None:
        """Note that a stretch is imported."""
        self.missing.remove(stretch)
        self.save()

    def save(self) -> None:
        """Write the file, whole or not at all."""
        found = {
            "story": asdict(self.story),
            "until_s": self.until_s,
            "missing": [[one.start_s, one.last_s] for one in self.missing],
            "total": self.total,
        }
        draft = self.path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(found))
        draft.replace(self.path)
