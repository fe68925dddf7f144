"""Random numbers without state: each is a function of the seed and its purpose.

So the simulated cluster can be computed for any moment, in any order, by any process, always with
the same result.
"""

import hashlib
from random import Random
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

# Kubernetes' own alphabet, which forms no words
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_MASK = (1 << 64) - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64, Steele and others 2014
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def key_of(*parts: object) -> int:
    """A 64-bit key of a list of names."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def random_of(*parts: object) -> Random:
    """A separate random source for a list of names."""
    return Random(key_of(*parts))  # a simulation, not a secret


def uuid_of(*parts: object) -> str:
    """A UUID that belongs to a list of names."""
    high, low = key_of("high", *parts), key_of("low", *parts)
    return str(UUID(int=high << 64 | low, version=4))


def code_of(length: int, *parts: object) -> str:
    """Letters and digits for a list of names, like the suffixes that controllers add."""
    number, text = key_of(*parts), ""
    for _ in range(length):
        number, digit = divmod(number, len(_ALPHABET))
        text += _ALPHABET[digit]
    return text


def noise(key: int, buckets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Uniform numbers in [0, 1), one for each bucket number, by splitmix64."""
    with np.errstate(over="ignore"):
        state = buckets.astype(np.uint64) * _GOLDEN + np.uint64(key & _MASK)
        state = (state ^ (state >> np.uint64(30))) * _MIX_1
        state = (state ^ (state >> np.uint64(27))) * _MIX_2
        state = state ^ (state >> np.uint64(31))
    return (state >> np.uint64(11)).astype(np.float64) / float(1 << 53)
