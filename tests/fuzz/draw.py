"""What the makers of statements draw from: the variables there are, names, dtypes, axes, slices."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import treadle.ndarray as nd
from fuzz.machine import Machine, Values
from treadle.ndarray._types import all_dtypes

DTYPES = tuple(each.name for each in all_dtypes() if hasattr(np, each.name))
"""Every dtype of treadle that NumPy has."""

MOST_ELEMENTS = 40_000
SHAPES = ((), (1,), (0,), (2, 0, 3), (17,), (33,), (3, 37), (130,), (1, 5), (4, 1, 3), (2, 3, 2, 2))
LARGE_SHAPES = ((5000,), (70, 130), (3, 9, 257), (600, 3), (1, 2100))


class Draw:
    """Random choices over the variables of a machine."""

    def __init__(self, chance: random.Random, machine: Machine, dtypes: tuple[str, ...] = DTYPES) -> None:
        self.chance, self.machine, self.dtypes = chance, machine, dtypes
        self._made = 0

    # --- variables ------------------------------------------------------------------------------------------------
    def name(self) -> str:
        self._made += 1
        return f"v{self._made}"

    def __getitem__(self, name: str) -> Values:
        return self.machine.theirs[name]

    def array(self, suits: Callable[[Values], Any] = lambda x: True) -> str | None:
        """A variable whose value suits, the later ones rather; None where there is none."""
        names = [name for name, value in self.machine.theirs.items() if suits(value)]
        if not names:
            return None
        return self.chance.choice(names[-4:] if self.chance.random() < 0.6 else names)

    def written(self, suits: Callable[[Values], Any] = lambda x: True) -> str | None:
        """A variable that may be written."""
        ours = self.machine.ours
        names = {name for name, value in self.machine.theirs.items() if value.flags.writeable}
        names = {name for name in names if not ours[name].readonly}
        found = [name for name in self.machine.theirs if name in names and suits(self.machine.theirs[name])]
        return self.chance.choice(found) if found else None

    # --- numbers --------------------------------------------------------------------------------------------------
    def often(self, probability: float = 0.5) -> bool:
        return self.chance.random() < probability

    def dtype(self, kinds: str = "biufc") -> str:
        names = [name for name in self.dtypes if np.dtype(name).kind in kinds]
        return self.chance.choice([*names, *(name for name in names if np.dtype(name).kind in "fc")])

    def shape(self) -> tuple[int, ...]:
        kind = self.chance.random()
        if kind < 0.15:
            return self.chance.choice(LARGE_SHAPES)
        if kind < 0.5:
            return self.chance.choice(SHAPES)
        return tuple(self.chance.randrange(1, 7) for _ in range(self.chance.randrange(1, 5)))

    def scalar(self, dtype: str) -> bool | int | float:
        """A Python number that every array of the dtype's kind takes."""
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.often()
        if kind in "iu":
            return self.chance.choice([0, 1, 2, 3, 7, 100] if kind == "u" else [0, 1, -1, 2, -3, 7, 100])
        return self.chance.choice([0.0, -0.0, 1.0, -1.5, 0.25, 3.0, 1e4, nd.nan, nd.inf, -nd.inf])

    # --- places ---------------------------------------------------------------------------------------------------
    def axis(self, x: Values) -> int:
        return self.chance.randrange(-x.ndim, x.ndim)

    def axes(self, x: Values) -> Any:
        """None, one axis, or several."""
        if not x.ndim or self.often(0.2):
            return None
        if self.often(0.6):
            return self.axis(x)
        return tuple(sorted(self.chance.sample(range(x.ndim), self.chance.randrange(0, x.ndim + 1))))

    def slice(self, length: int) -> str:
        """A slice of any step, mostly one that leaves something."""
        step = self.chance.choice([None, 1, 1, -1, -1, 2, -2, 3, -5])
        bounds = [None, None, *range(-length - 1, length + 2)] if length < 20 else [None, None, 1, 3, -1, length // 2]
        start, stop = self.chance.choice(bounds), self.chance.choice(bounds)
        return ":".join("" if each is None else str(each) for each in (start, stop, step))

    def basic_index(self, x: Values) -> str:
        """Slices, integers, an ellipsis, new axes."""
        parts = []
        for length in x.shape[: self.chance.randrange(0, x.ndim + 1)]:
            kind = self.chance.random()
            if kind < 0.25 and length:
                parts.append(str(self.chance.randrange(-length, length)))
            else:
                parts.append(self.slice(length))
        numbers = sum(each.lstrip("-").isdigit() for each in parts)
        if self.often(0.15) or numbers == x.ndim:  # NumPy's element would be no view
            parts.append("...")
        if self.often(0.1) and x.ndim < 6:
            parts.insert(self.chance.randrange(len(parts) + 1), "None")
        return ", ".join(parts) or "..."
