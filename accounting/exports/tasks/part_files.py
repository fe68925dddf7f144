"""Parts of bytes as files: for libraries that read or write a file."""

import io
from collections.abc import Iterator
from typing import Any


class ReadableParts(io.RawIOBase):
    """Parts of bytes as a file to read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            found = next(self._parts, None)
            if found is None:
                return 0
            self._rest = found
        taken = self._rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)


class WrittenParts(io.RawIOBase):
    """A file to write whose bytes are taken out while it grows."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._held.append(part)
        self._size += len(part)
        return len(part)

    def taken(self) -> list[bytes]:
        """What was written since the last time."""
        found, self._held = self._held, []
        return found
