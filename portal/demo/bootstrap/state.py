"""The state of the demo between starts: its scenario, and the missing parts of the history.

One small JSON file in the home, replaced atomically, so that a killed demo continues.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from portal.demo.metrics.history import FileInterval, stretches
from portal.demo.scenario.story import WEEK_DAYS, Story
from portal.embedded.paths import places_of


class MemoryFault(Exception):
    """The file cannot be used; the message explains what to do."""


@dataclass(slots=True)
class Memory:
    """The scenario and the parts to import, newest first.

    Attributes:
        until_s: up to here every part is imported or in `missing`.
        total: the number of all parts so far, for the progress line.
    """

    path: Path
    story: Story
    until_s: int
    missing: list[FileInterval] = field(default_factory=list)
    total: int = 0

    @classmethod
    def load(cls, home: Path) -> "Memory | None":
        """The state of a home; None before its first start.

        Raises:
            MemoryFault: the file is damaged.
        """
        path = places_of(home).demo
        try:
            found = json.loads(path.read_text())
            return cls(
                path,
                _story(found["story"]),
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
        """The state of a demo that has not imported anything yet."""
        return cls(places_of(home).demo, story, story.start_s)

    def reach(self, now_s: int) -> None:
        """Add the time up to now to the missing parts; the newest is imported first."""
        if now_s <= self.until_s:
            return  # the clock went back
        new = stretches(self.until_s, now_s)
        self.missing = [*new, *self.missing]
        self.total += len(new)
        self.until_s = now_s
        self.save()

    @property
    def is_new(self) -> bool:
        """True before the first import."""
        return len(self.missing) == self.total

    def seen_live(self, at_s: int) -> None:
        """Record that live scrapes have covered the time up to a moment."""
        self.until_s = max(self.until_s, at_s)

    def done(self, stretch: FileInterval) -> None:
        """Record that a part is imported."""
        self.missing.remove(stretch)
        self.save()

    def save(self) -> None:
        """Write the file atomically."""
        found = {
            "story": asdict(self.story),
            "until_s": self.until_s,
            "missing": [[one.start_s, one.last_s] for one in self.missing],
            "total": self.total,
        }
        draft = self.path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(found))
        draft.replace(self.path)


def _story(found: dict[str, int]) -> Story:
    """The stored scenario; earlier versions stored its length in weeks."""
    kept = dict(found)
    if "weeks" in kept:
        kept["days"] = kept.pop("weeks") * WEEK_DAYS
    return Story(**kept)
