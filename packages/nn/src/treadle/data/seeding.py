"""The seeds of worker processes: one for each batch, for every generator that a data set may draw from."""

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import treadle.ndarray as nd
from treadle.data.dataset import Dataset
from treadle.ndarray.random import Generator

__all__ = ["Drawing", "generators_in", "mixed", "seed_everything"]

_MASK = (1 << 64) - 1
_LONGEST = 1000


class Drawing:
    """The base of what draws from a ``generator`` of its own, so that loaders find it."""

    generator: Generator | None = None


def seed_everything(seed: int) -> None:
    """Seed the generators of the standard library, treadle and, where it is installed, NumPy."""
    random.seed(seed)
    nd.random.manual_seed(seed)
    with suppress(ImportError):
        import numpy

        numpy.random.seed([seed & 0xFFFFFFFF, seed >> 32])


def mixed(base: int, number: int) -> int:
    """A seed made of two numbers: SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014).

    >>> hex(mixed(0, 0))
    '0xe220a8397b1dcdaf'
    """
    state = (base + (number + 1) * 0x9E3779B97F4A7C15) & _MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)


def generators_in(value: Any) -> list[Generator]:
    """The generators that a data set holds: in its attributes, its transforms, the data sets it is made of."""
    found: dict[int, Generator] = {}
    for generator in _walk(value, set()):
        found.setdefault(id(generator), generator)
    return list(found.values())


def _walk(value: Any, seen: set[int]) -> Iterator[Generator]:
    if isinstance(value, Generator):
        yield value
    elif isinstance(value, (Dataset, Drawing)) and id(value) not in seen:
        seen.add(id(value))
        for each in vars(value).values():
            yield from _walk(each, seen)
    elif isinstance(value, (list, tuple)) and len(value) <= _LONGEST:
        for each in value:
            if isinstance(each, (Dataset, Drawing, Generator)):
                yield from _walk(each, seen)
